#include "controller/domain/oauth/openid_keys.h"

#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/jws.h"
#include "controller/base/rsa_key.h"
#include "controller/domain/kernel/meta.h"

namespace berth::openid {
namespace {

using apps::IdTokenAlg;
using nlohmann::json;

// The key of the row in meta, which is also what the sealed text belongs to.
constexpr std::string_view place = "openid_keys";
// The longest token that is looked at.
constexpr size_t max_token_bytes = 16 * 1024;

std::string bytes_in(const json& text) {
  const auto bytes = parse_base64url(text.get<std::string>());
  if (!bytes) throw std::runtime_error("the keys of ID tokens in the database are malformed");
  return *bytes;
}

json stored(const KeyPair& pair) {
  return {{"rsa", base64url(pair.rsa)},
          {"rsa_id", pair.rsa_id},
          {"seed", base64url(pair.seed)},
          {"published_at", to_millis(pair.published_at)}};
}

KeyPair pair_in(const json& pair) {
  return {.rsa = bytes_in(pair.at("rsa")),
          .rsa_id = pair.at("rsa_id"),
          .seed = bytes_in(pair.at("seed")),
          .published_at = from_millis(pair.at("published_at").get<std::int64_t>())};
}

void store(db::Tx& tx, const std::string& data_key, const SigningKeys& keys) {
  json former = json::array();
  for (const FormerKey& key : keys.former)
    former.push_back({{"alg", key.alg},
                      {"public", base64url(key.public_key)},
                      {"kept_until", to_millis(key.kept_until)}});
  const json text = {{"current", stored(keys.current)},
                     {"next", stored(keys.next)},
                     {"signs_since", to_millis(keys.signs_since)},
                     {"former", std::move(former)}};
  meta::put(tx, place, base64(seal(data_key, text.dump(), place)));
}

// Nobody can know the first pair before it signs. Whoever has read it has read the next one, too,
// so that one may sign at any time.
SigningKeys first_keys(db::Tx& tx, const std::string& data_key, const KeyPair& next) {
  SigningKeys keys = {
      .current = new_key_pair(), .next = next, .signs_since = tx.now(), .former = {}};
  keys.current.published_at = tx.now();
  keys.next.published_at = Instant();
  store(tx, data_key, keys);
  return keys;
}

// A public key with its name, and what it is for.
struct PublicKey {
  IdTokenAlg alg;
  std::string bytes;

  std::string id() const {
    return alg == IdTokenAlg::rs256 ? rsa::key_id(bytes) : jws::key_id(bytes);
  }
  json jwk() const { return alg == IdTokenAlg::rs256 ? rsa::jwk_of(bytes) : jws::jwk_of(bytes); }
  bool verifies(std::string_view data, const std::string& signature) const {
    return alg == IdTokenAlg::rs256 ? rsa::verifies(bytes, data, signature)
                                    : jws::verifies(bytes, data, signature);
  }
};

std::vector<PublicKey> public_keys(const KeyPair& pair) {
  return {{.alg = IdTokenAlg::rs256, .bytes = rsa::public_key_of(pair.rsa)},
          {.alg = IdTokenAlg::eddsa, .bytes = jws::public_key_of(pair.seed)}};
}

std::vector<PublicKey> public_keys(const SigningKeys& keys, Instant now) {
  std::vector<PublicKey> all = public_keys(keys.current);
  for (PublicKey& key : public_keys(keys.next)) all.push_back(std::move(key));
  for (const FormerKey& key : keys.former)
    if (key.kept_until > now) all.push_back({.alg = key.alg, .bytes = key.public_key});
  return all;
}

std::optional<json> object_in(std::string_view part) {
  const auto text = parse_base64url(part);
  if (!text) return std::nullopt;
  json object = json::parse(*text, nullptr, false);
  return object.is_object() ? std::optional(std::move(object)) : std::nullopt;
}

bool says(const json& object, const char* name, std::string_view value) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() &&
         found->get_ref<const std::string&>() == value;
}

}  // namespace

KeyPair new_key_pair() {
  const std::string key = rsa::new_private_key();
  return {.rsa = key,
          .rsa_id = rsa::key_id(rsa::public_key_of(key)),
          .seed = random_bytes(jws::seed_bytes)};
}

std::optional<SigningKeys> signing_keys(db::Tx& tx, const std::string& data_key) {
  const auto row = meta::find(tx, place);
  if (!row) return std::nullopt;
  const auto sealed = parse_base64(*row);
  const auto text = sealed ? open_sealed(data_key, *sealed, place) : std::nullopt;
  if (!text) throw std::runtime_error("the keys of ID tokens in the database can't be decrypted");
  const json content = json::parse(*text);
  SigningKeys keys = {.current = pair_in(content.at("current")),
                      .next = pair_in(content.at("next")),
                      .signs_since = from_millis(content.at("signs_since").get<std::int64_t>()),
                      .former = {}};
  for (const json& key : content.at("former"))
    keys.former.push_back({.alg = key.at("alg").get<IdTokenAlg>(),
                           .public_key = bytes_in(key.at("public")),
                           .kept_until = from_millis(key.at("kept_until").get<std::int64_t>())});
  return keys;
}

SigningKeys signing_keys_or_new(db::Tx& tx, const std::string& data_key) {
  auto keys = signing_keys(tx, data_key);
  return keys ? *std::move(keys) : first_keys(tx, data_key, new_key_pair());
}

bool is_rotation_due(db::Tx& tx, const std::string& data_key) {
  const auto keys = signing_keys(tx, data_key);
  return !keys || keys->signs_since + rotated_every <= tx.now();
}

std::vector<std::string> rotate_signing_keys(db::Tx& tx, const std::string& data_key,
                                             const KeyPair& fresh) {
  tx.require_serializable();
  const auto before = signing_keys(tx, data_key);
  std::optional<SigningKeys> keys;
  if (!before) {
    keys = first_keys(tx, data_key, fresh);
  } else {
    if (before->next.published_at + published_for > tx.now())
      throw Error(Code::invalid_state,
                  "the next keys were published less than an hour ago, so clients may not know "
                  "them yet; rotate again later");
    keys = {.current = before->next, .next = fresh, .signs_since = tx.now(), .former = {}};
    keys->next.published_at = tx.now();
    for (const PublicKey& key : public_keys(before->current))
      keys->former.push_back(
          {.alg = key.alg, .public_key = key.bytes, .kept_until = tx.now() + former_kept_for});
    for (const FormerKey& key : before->former)
      if (key.kept_until > tx.now()) keys->former.push_back(key);
    store(tx, data_key, *keys);
  }
  std::vector<std::string> ids;
  for (const PublicKey& key : public_keys(keys->current)) ids.push_back(key.id());
  return ids;
}

json published_keys(const SigningKeys& keys, Instant now) {
  json list = json::array();
  for (const PublicKey& key : public_keys(keys, now)) list.push_back(key.jwk());
  return {{"keys", std::move(list)}};
}

std::string sign(const SigningKeys& keys, IdTokenAlg alg, std::string_view type,
                 const json& claims) {
  const KeyPair& pair = keys.current;
  if (alg == IdTokenAlg::eddsa) return jws::sign(pair.seed, type, claims);
  const json header = {{"alg", alg}, {"typ", type}, {"kid", pair.rsa_id}};
  const std::string signed_part = base64url(header.dump()) + "." + base64url(claims.dump());
  return signed_part + "." + base64url(rsa::sign(pair.rsa, signed_part));
}

std::optional<json> verified(const SigningKeys& keys, std::string_view type, std::string_view text,
                             Instant now) {
  const size_t first = text.find('.'), last = text.rfind('.');
  if (text.size() > max_token_bytes || first == std::string_view::npos || last == first)
    return std::nullopt;
  const auto header = object_in(text.substr(0, first));
  const auto signature = parse_base64url(text.substr(last + 1));
  if (!header || !signature || header->contains("crit") || !says(*header, "typ", type))
    return std::nullopt;
  for (const PublicKey& key : public_keys(keys, now))
    if (says(*header, "kid", key.id()) && says(*header, "alg", to_string(key.alg)))
      return key.verifies(text.substr(0, last), *signature)
                 ? object_in(text.substr(first + 1, last - first - 1))
                 : std::nullopt;
  return std::nullopt;
}

Loop keys_loop(std::string data_key) {
  return {.name = "openid keys",
          .interval = std::chrono::minutes(10),
          .lease = "openid-keys",
          .round =
              [data_key = std::move(data_key)](Round& round) {
                if (!round.read([&](db::Tx& tx) { return is_rotation_due(tx, data_key); })) return;
                const KeyPair fresh = new_key_pair();
                round.write([&](db::Tx& tx) {
                  if (is_rotation_due(tx, data_key)) rotate_signing_keys(tx, data_key, fresh);
                });
                log::info("ID tokens are signed with new keys");
              },
          .failure = "the keys of ID tokens couldn't be rotated"};
}

}  // namespace berth::openid
