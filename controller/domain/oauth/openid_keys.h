#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/apps/openid_settings.h"
#include "controller/domain/kernel/loop.h"

// The keys with which berthd signs ID tokens and logout tokens: an RSA key and an Ed25519 key at a
// time. They are in the database, encrypted with the data key, so that all berthd processes on it
// have the same ones. The next pair is published long before it signs, so that clients that keep
// the published keys for a while know it by then; a former one stays published until the last
// token that it signed has expired.
namespace berth::openid {

// How long clients may keep the published keys.
inline constexpr Duration published_for = std::chrono::hours(1);
inline constexpr Duration rotated_every = std::chrono::days(90);
// Longer than any token that is signed lives (openid.h), and than clocks differ.
inline constexpr Duration former_kept_for = std::chrono::hours(1) + std::chrono::minutes(10);

struct KeyPair {
  std::string rsa;            // a private key (base/rsa_key.h)
  std::string rsa_id;         // its name, which takes as long to compute as to sign
  std::string seed;           // of an Ed25519 key (base/jws.h)
  Instant published_at = {};  // set by whoever stores it
};
// Takes some 100 ms of one core, so it is best called outside of a transaction.
KeyPair new_key_pair();

struct FormerKey {
  apps::IdTokenAlg alg = apps::IdTokenAlg::rs256;
  std::string public_key;  // as rsa::public_key_of() or jws::public_key_of() returns it
  Instant kept_until;
};
struct SigningKeys {
  KeyPair current;
  KeyPair next;
  Instant signs_since;  // the current pair
  std::vector<FormerKey> former;
};

// Returns nothing if there are none yet. Throws std::runtime_error if what is stored can't be
// decrypted.
std::optional<SigningKeys> signing_keys(db::Tx& tx, const std::string& data_key);
// The same, but makes the first ones if there are none, in a write.
SigningKeys signing_keys_or_new(db::Tx& tx, const std::string& data_key);

// Whether the first keys have to be made, or the current pair has signed for rotated_every.
bool is_rotation_due(db::Tx& tx, const std::string& data_key);
// Has the next pair sign from now on, and publishes `fresh` as the one after it. Returns the ids of
// the keys that sign now. Makes the first keys if there are none. Needs a serializable write.
// Throws Error `invalid_state` if the next pair hasn't been published for published_for.
std::vector<std::string> rotate_signing_keys(db::Tx& tx, const std::string& data_key,
                                             const KeyPair& fresh);

// The JWK set (RFC 7517, section 5) of all public keys: those that sign, the next ones, and former
// ones whose tokens may still be valid.
nlohmann::json published_keys(const SigningKeys& keys, Instant now);

// Signs the claims in the compact form (RFC 7515, section 3.1). `type` is the header `typ`, so that
// one kind of token can't be taken for another one.
std::string sign(const SigningKeys& keys, apps::IdTokenAlg alg, std::string_view type,
                 const nlohmann::json& claims);
// Returns the claims of a text that sign() made, if one of the published keys has signed it and it
// is of that type. Says nothing about its time. Algorithms are those of the keys: a text that names
// another one for a key, such as `none` or HS256, is refused (RFC 8725, section 3.1).
std::optional<nlohmann::json> verified(const SigningKeys& keys, std::string_view type,
                                       std::string_view text, Instant now);

// The loop that makes the first keys, and rotates them when that is due.
Loop keys_loop(std::string data_key);

}  // namespace berth::openid
