#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// RSA keys for signatures by RS256: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518, section 3.3).
// Functions throw std::runtime_error if OpenSSL fails.
namespace berth::rsa {

inline constexpr unsigned key_bits = 2048;

// Returns a new private key in DER (PKCS #8). Takes some 100 ms of one core.
std::string new_private_key();
// Returns its public key in DER (SubjectPublicKeyInfo, RFC 5280, section 4.1).
std::string public_key_of(const std::string& private_key);
std::string sign(const std::string& private_key, std::string_view data);
// False also for a public key that isn't one.
bool verifies(const std::string& public_key, std::string_view data, std::string_view signature);

// The name of a public key: its thumbprint (RFC 7638, section 3.1).
std::string key_id(const std::string& public_key);
// The public key as a JWK (RFC 7518, section 6.3.1).
nlohmann::json jwk_of(const std::string& public_key);

}  // namespace berth::rsa
