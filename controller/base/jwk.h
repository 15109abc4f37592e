#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/enum_text.h"

// Other servers' public keys (JWK, RFC 7517), and the JSON Web Tokens that they sign (RFC 7519).
// What berth itself signs is in jws.h.
namespace berth::jwk {

// The algorithms that are accepted (RFC 7518, section 3.1; RFC 8037): public keys only, so neither
// `none` nor HS256, whose key would have to be secret. An EC key is one of P-256.
enum class Algorithm { rs256, es256, eddsa };
constexpr auto texts_of(Algorithm) {
  return EnumTexts<Algorithm::eddsa>{"RS256", "ES256", "EdDSA"};
}

inline constexpr std::size_t max_token_bytes = 16 * 1024;
// Keys of a set beyond this number are ignored.
inline constexpr std::size_t max_keys = 32;
// The modulus of an RSA key, in bits (NIST SP 800-131A for the least). A larger one would make each
// check slow.
inline constexpr int least_rsa_bits = 2048;
inline constexpr int most_rsa_bits = 4096;

struct PublicKey;  // OpenSSL's
// A key of a set. Copies share the key, which never changes.
struct Key {
  std::string id;  // `kid`, never empty
  Algorithm algorithm = Algorithm::rs256;
  std::shared_ptr<const PublicKey> key;
};
// Returns the keys of a JWK Set (RFC 7517, section 5) by which a token may be checked. Keys that
// have no `kid`, are for something else (`use`, `key_ops`, `alg`), or are of another kind are left
// out (section 5). Returns nothing if it isn't a JWK Set.
std::optional<std::vector<Key>> keys_in(const nlohmann::json& set);

// A token whose signature hasn't been checked.
struct Token {
  Algorithm algorithm = Algorithm::rs256;
  std::string key_id;
  nlohmann::json claims;  // an object
  std::string signed_part;
  std::string signature;
};
// Takes a token apart. Returns nothing if it is longer than max_token_bytes, isn't a JWS in the
// compact form with one of the algorithms and a `kid`, has `crit` (RFC 7515, section 4.1.11), or a
// `typ` other than JWT.
std::optional<Token> parse(std::string_view text);

// Whether the key has signed the token, with the token's algorithm.
bool verifies(const Key& key, const Token& token);

}  // namespace berth::jwk
