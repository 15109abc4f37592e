#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

// Signatures with Ed25519 (RFC 8032), and texts with such a signature: JWS in the compact form (RFC
// 7515, RFC 8037).
namespace berth::jws {

inline constexpr size_t seed_bytes = 32;
// The longest text that parse() looks at.
inline constexpr size_t max_bytes = 64 * 1024;

// The public key of a private key, which is a seed of seed_bytes; 32 bytes.
std::string public_key_of(const std::string& seed);
std::string sign_bytes(const std::string& seed, std::string_view data);  // 64 bytes
// False also for a public key that isn't one.
bool verifies(const std::string& public_key, std::string_view data, const std::string& signature);

// The name of a key: its thumbprint (RFC 7638; RFC 8037, appendix A.3).
std::string key_id(const std::string& public_key);
// The key as a JWK (RFC 8037, section 2).
nlohmann::json jwk_of(const std::string& public_key);
// The public key of a JWK; nothing if it isn't one for Ed25519.
std::optional<std::string> public_key_in(const nlohmann::json& jwk);

// Signs the payload. `type` is the header `typ`, so that one kind of text can't be taken for
// another one.
std::string sign(const std::string& seed, std::string_view type, const nlohmann::json& payload);

struct Parsed {
  std::string type;
  std::string key_id;
  nlohmann::json payload;  // an object
  std::string signed_part;
  std::string signature;
};
// Takes a compact JWS apart without checking its signature. Returns nothing if it isn't one with
// the algorithm EdDSA, or has `crit` (RFC 7515, section 4.1.11).
std::optional<Parsed> parse(std::string_view text);

}  // namespace berth::jws
