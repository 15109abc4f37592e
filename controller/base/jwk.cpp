#include "controller/base/jwk.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>

#include "controller/base/ascii.h"
#include "controller/base/crypto.h"

namespace berth::jwk {

struct PublicKey {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pkey{nullptr, EVP_PKEY_free};
};

namespace {

using nlohmann::json;
using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)>;
using Params = std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

constexpr std::size_t coordinate_bytes = 32;  // of P-256 and of Ed25519 (RFC 7518, section 6.2.1.2)
constexpr int most_exponent_bits = 32;
constexpr unsigned char uncompressed_point = 0x04;  // SEC 1, section 2.3.3

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<std::string> bytes_in(const json& object, const char* name) {
  auto bytes = parse_base64url(text_in(object, name));
  return bytes && !bytes->empty() ? bytes : std::nullopt;
}

std::optional<json> object_in(std::string_view part) {
  const auto text = parse_base64url(part);
  if (!text) return std::nullopt;
  json object = json::parse(*text, nullptr, false);
  return object.is_object() ? std::optional(std::move(object)) : std::nullopt;
}

std::shared_ptr<const PublicKey> shared(EVP_PKEY* pkey) {
  if (pkey == nullptr) return nullptr;
  auto key = std::make_shared<PublicKey>();
  key->pkey.reset(pkey);
  return key;
}

std::shared_ptr<const PublicKey> made_of(const char* type, OSSL_PARAM_BLD* builder) {
  const Params params(OSSL_PARAM_BLD_to_param(builder), OSSL_PARAM_free);
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr), EVP_PKEY_CTX_free);
  EVP_PKEY* pkey = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &pkey, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
    return nullptr;
  return shared(pkey);
}

// RFC 7518, section 6.3.1.
std::shared_ptr<const PublicKey> rsa_key(const json& jwk) {
  const auto modulus = bytes_in(jwk, "n");
  const auto exponent = bytes_in(jwk, "e");
  if (!modulus || !exponent || modulus->size() > most_rsa_bits / 8 + 1) return nullptr;
  const Number n(BN_bin2bn(bytes_of(*modulus), int(modulus->size()), nullptr), BN_free);
  const Number e(
      BN_bin2bn(bytes_of(*exponent), int(std::min<std::size_t>(exponent->size(), 64)), nullptr),
      BN_free);
  if (!n || !e || BN_num_bits(n.get()) < least_rsa_bits || BN_num_bits(n.get()) > most_rsa_bits ||
      BN_num_bits(e.get()) > most_exponent_bits || BN_is_odd(e.get()) == 0 ||
      BN_is_one(e.get()) == 1)
    return nullptr;
  const Builder builder(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  if (!builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return nullptr;
  return made_of("RSA", builder.get());
}

// RFC 7518, section 6.2.1. A point that isn't on the curve makes no key.
std::shared_ptr<const PublicKey> ec_key(const json& jwk) {
  const auto x = bytes_in(jwk, "x");
  const auto y = bytes_in(jwk, "y");
  if (text_in(jwk, "crv") != "P-256" || !x || !y || x->size() != coordinate_bytes ||
      y->size() != coordinate_bytes)
    return nullptr;
  const std::string point = std::string(1, char(uncompressed_point)) + *x + *y;
  const Builder builder(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  if (!builder ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) !=
          1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1)
    return nullptr;
  return made_of("EC", builder.get());
}

// RFC 8037, section 2.
std::shared_ptr<const PublicKey> ed25519_key(const json& jwk) {
  const auto x = bytes_in(jwk, "x");
  if (text_in(jwk, "crv") != "Ed25519" || !x || x->size() != coordinate_bytes) return nullptr;
  return shared(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(*x), x->size()));
}

bool is_for_signatures(const json& jwk) {
  if (jwk.contains("use") && text_in(jwk, "use") != "sig") return false;
  const auto operations = jwk.find("key_ops");
  return operations == jwk.end() ||
         (operations->is_array() &&
          std::ranges::find(*operations, json("verify")) != operations->end());
}

std::optional<Key> key_in(const json& jwk) {
  if (!jwk.is_object() || !is_for_signatures(jwk)) return std::nullopt;
  Key key = {.id = text_in(jwk, "kid"), .algorithm = Algorithm::rs256, .key = nullptr};
  const std::string type = text_in(jwk, "kty");
  if (type == "RSA") {
    key.algorithm = Algorithm::rs256;
    key.key = rsa_key(jwk);
  } else if (type == "EC") {
    key.algorithm = Algorithm::es256;
    key.key = ec_key(jwk);
  } else if (type == "OKP") {
    key.algorithm = Algorithm::eddsa;
    key.key = ed25519_key(jwk);
  }
  const bool is_for_other = jwk.contains("alg") && text_in(jwk, "alg") != to_string(key.algorithm);
  if (key.id.empty() || key.key == nullptr || is_for_other) return std::nullopt;
  return key;
}

// The two numbers of a signature with ES256, which JWS writes one after the other (RFC 7518,
// section 3.4), in the form that OpenSSL reads. Empty if they aren't two numbers of 32 bytes.
std::string ecdsa_in_der(const std::string& signature) {
  if (signature.size() != 2 * coordinate_bytes) return "";
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(ECDSA_SIG_new(), ECDSA_SIG_free);
  Number r(BN_bin2bn(bytes_of(signature), int(coordinate_bytes), nullptr), BN_free);
  Number s(BN_bin2bn(bytes_of(signature) + coordinate_bytes, int(coordinate_bytes), nullptr),
           BN_free);
  if (!pair || !r || !s || ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) return "";
  static_cast<void>(r.release());  // they belong to `pair` now
  static_cast<void>(s.release());
  unsigned char* der = nullptr;
  const int length = i2d_ECDSA_SIG(pair.get(), &der);
  const std::string bytes =
      length > 0 ? std::string(reinterpret_cast<char*>(der), std::size_t(length)) : "";
  OPENSSL_free(der);
  return bytes;
}

}  // namespace

std::optional<std::vector<Key>> keys_in(const json& set) {
  if (!set.is_object()) return std::nullopt;
  const auto all = set.find("keys");
  if (all == set.end() || !all->is_array()) return std::nullopt;
  std::vector<Key> keys;
  for (std::size_t i = 0; i < std::min(all->size(), max_keys); ++i)
    if (auto key = key_in((*all)[i])) keys.push_back(*std::move(key));
  return keys;
}

std::optional<Token> parse(std::string_view text) {
  if (text.size() > max_token_bytes || std::ranges::count(text, '.') != 2) return std::nullopt;
  const std::size_t first = text.find('.');
  const std::size_t last = text.rfind('.');
  const auto header = object_in(text.substr(0, first));
  if (!header || header->contains("crit")) return std::nullopt;
  if (header->contains("typ") && !equal_in_lower_case(text_in(*header, "typ"), "JWT"))
    return std::nullopt;
  const auto algorithm = parse_enum<Algorithm>(text_in(*header, "alg"));
  auto claims = object_in(text.substr(first + 1, last - first - 1));
  auto signature = parse_base64url(text.substr(last + 1));
  std::string key_id = text_in(*header, "kid");
  if (!algorithm || !claims || !signature || key_id.empty()) return std::nullopt;
  return Token{.algorithm = *algorithm,
               .key_id = std::move(key_id),
               .claims = *std::move(claims),
               .signed_part = std::string(text.substr(0, last)),
               .signature = *std::move(signature)};
}

bool verifies(const Key& key, const Token& token) {
  if (key.key == nullptr || key.algorithm != token.algorithm) return false;
  const std::string signature =
      key.algorithm == Algorithm::es256 ? ecdsa_in_der(token.signature) : token.signature;
  if (signature.empty()) return false;
  const EVP_MD* digest = key.algorithm == Algorithm::eddsa ? nullptr : EVP_sha256();
  const DigestContext context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key.key->pkey.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(),
                          bytes_of(token.signed_part), token.signed_part.size()) == 1;
}

}  // namespace berth::jwk
