#include "controller/base/jws.h"

#include <openssl/evp.h>

#include <memory>
#include <stdexcept>

#include "controller/base/crypto.h"

namespace berth::jws {
namespace {

using nlohmann::json;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

constexpr size_t public_key_bytes = 32;
constexpr size_t signature_bytes = 64;
constexpr std::string_view algorithm = "EdDSA";
constexpr std::string_view curve = "Ed25519";
constexpr std::string_view key_type = "OKP";

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

void check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string("OpenSSL: ") + what + " failed");
}

Key private_key(const std::string& seed) {
  check(seed.size() == seed_bytes, "a seed of 32 bytes");
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes_of(seed), seed.size()),
          EVP_PKEY_free);
  check(key != nullptr, "EVP_PKEY_new_raw_private_key");
  return key;
}

// The JSON of a part in base64url; nothing if it isn't an object.
std::optional<json> object_in(std::string_view part) {
  const auto text = parse_base64url(part);
  if (!text) return std::nullopt;
  json object = json::parse(*text, nullptr, false);
  return object.is_object() ? std::optional(std::move(object)) : std::nullopt;
}

std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string public_key_of(const std::string& seed) {
  const Key key = private_key(seed);
  std::string result(public_key_bytes, '\0');
  size_t length = result.size();
  check(EVP_PKEY_get_raw_public_key(key.get(), bytes_of(result), &length) == 1,
        "EVP_PKEY_get_raw_public_key");
  return result;
}

std::string sign_bytes(const std::string& seed, std::string_view data) {
  const Key key = private_key(seed);
  const DigestContext context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  check(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1,
        "EVP_DigestSignInit");
  std::string signature(signature_bytes, '\0');
  size_t length = signature.size();
  check(
      EVP_DigestSign(context.get(), bytes_of(signature), &length, bytes_of(data), data.size()) == 1,
      "EVP_DigestSign");
  return signature;
}

bool verifies(const std::string& public_key, std::string_view data, const std::string& signature) {
  if (public_key.size() != public_key_bytes || signature.size() != signature_bytes) return false;
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(public_key),
                                            public_key.size()),
                EVP_PKEY_free);
  const DigestContext context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return key != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(data),
                          data.size()) == 1;
}

std::string key_id(const std::string& public_key) {
  // The required members in the order of their names, without blanks (RFC 7638, section 3).
  return base64url(
      sha256(R"({"crv":"Ed25519","kty":"OKP","x":")" + base64url(public_key) + R"("})"));
}

json jwk_of(const std::string& public_key) {
  return {{"kty", key_type},  {"crv", curve}, {"x", base64url(public_key)},
          {"alg", algorithm}, {"use", "sig"}, {"kid", key_id(public_key)}};
}

std::optional<std::string> public_key_in(const json& jwk) {
  if (!jwk.is_object() || text_in(jwk, "kty") != key_type || text_in(jwk, "crv") != curve)
    return std::nullopt;
  auto key = parse_base64url(text_in(jwk, "x"));
  return key && key->size() == public_key_bytes ? key : std::nullopt;
}

std::string sign(const std::string& seed, std::string_view type, const json& payload) {
  const json header = {{"alg", algorithm}, {"typ", type}, {"kid", key_id(public_key_of(seed))}};
  const std::string signed_part = base64url(header.dump()) + "." + base64url(payload.dump());
  return signed_part + "." + base64url(sign_bytes(seed, signed_part));
}

std::optional<Parsed> parse(std::string_view text) {
  if (text.size() > max_bytes) return std::nullopt;
  const size_t first = text.find('.');
  const size_t last = text.rfind('.');
  if (first == std::string_view::npos || last == first) return std::nullopt;
  const auto header = object_in(text.substr(0, first));
  auto payload = object_in(text.substr(first + 1, last - first - 1));
  auto signature = parse_base64url(text.substr(last + 1));
  if (!header || !payload || !signature) return std::nullopt;
  if (text_in(*header, "alg") != algorithm || header->contains("crit")) return std::nullopt;
  return Parsed{.type = text_in(*header, "typ"),
                .key_id = text_in(*header, "kid"),
                .payload = *std::move(payload),
                .signed_part = std::string(text.substr(0, last)),
                .signature = *std::move(signature)};
}

}  // namespace berth::jws
