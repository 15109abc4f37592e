#include "controller/base/rsa_key.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <memory>
#include <stdexcept>

#include "controller/base/crypto.h"

namespace berth::rsa {
namespace {

using nlohmann::json;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

constexpr std::string_view algorithm = "RS256";
constexpr std::string_view key_type = "RSA";

void check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string("OpenSSL: ") + what + " failed");
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Takes over what one of OpenSSL's i2d functions has written.
std::string taken(unsigned char* bytes, int length, const char* what) {
  check(length > 0, what);
  std::string der(reinterpret_cast<const char*>(bytes), size_t(length));
  OPENSSL_clear_free(bytes, size_t(length));
  return der;
}

Key private_key_in(const std::string& der) {
  const unsigned char* at = bytes_of(der);
  Key key(d2i_AutoPrivateKey(nullptr, &at, long(der.size())), EVP_PKEY_free);
  check(key != nullptr && EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_RSA, "d2i_AutoPrivateKey");
  return key;
}

Key public_key_in(const std::string& der) {
  const unsigned char* at = bytes_of(der);
  return {d2i_PUBKEY(nullptr, &at, long(der.size())), EVP_PKEY_free};
}

// A number of the key in base64url, without zeros in front (RFC 7518, section 2: Base64urlUInt).
std::string number_of(const Key& key, const char* name) {
  BIGNUM* number = nullptr;
  check(EVP_PKEY_get_bn_param(key.get(), name, &number) == 1, "EVP_PKEY_get_bn_param");
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> owner(number, BN_free);
  std::string bytes(size_t(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  return base64url(bytes);
}

struct Numbers {
  std::string modulus;
  std::string exponent;
};
Numbers numbers_of(const std::string& public_key) {
  const Key key = public_key_in(public_key);
  check(key != nullptr, "d2i_PUBKEY");
  return {.modulus = number_of(key, OSSL_PKEY_PARAM_RSA_N),
          .exponent = number_of(key, OSSL_PKEY_PARAM_RSA_E)};
}

std::string thumbprint(const Numbers& numbers) {
  // The required members in the order of their names, without blanks (RFC 7638, section 3).
  return base64url(sha256(R"({"e":")" + numbers.exponent + R"(","kty":"RSA","n":")" +
                          numbers.modulus + R"("})"));
}

}  // namespace

std::string new_private_key() {
  const Key key(EVP_RSA_gen(key_bits), EVP_PKEY_free);
  check(key != nullptr, "EVP_RSA_gen");
  const std::unique_ptr<PKCS8_PRIV_KEY_INFO, decltype(&PKCS8_PRIV_KEY_INFO_free)> info(
      EVP_PKEY2PKCS8(key.get()), PKCS8_PRIV_KEY_INFO_free);
  check(info != nullptr, "EVP_PKEY2PKCS8");
  unsigned char* bytes = nullptr;
  const int length = i2d_PKCS8_PRIV_KEY_INFO(info.get(), &bytes);
  return taken(bytes, length, "i2d_PKCS8_PRIV_KEY_INFO");
}

std::string public_key_of(const std::string& private_key) {
  const Key key = private_key_in(private_key);
  unsigned char* bytes = nullptr;
  const int length = i2d_PUBKEY(key.get(), &bytes);
  return taken(bytes, length, "i2d_PUBKEY");
}

std::string sign(const std::string& private_key, std::string_view data) {
  const Key key = private_key_in(private_key);
  const DigestContext context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  check(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1,
        "EVP_DigestSignInit");
  size_t length = size_t(EVP_PKEY_get_size(key.get()));
  std::string signature(length, '\0');
  check(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length,
                       bytes_of(data), data.size()) == 1,
        "EVP_DigestSign");
  signature.resize(length);
  return signature;
}

bool verifies(const std::string& public_key, std::string_view data, std::string_view signature) {
  const Key key = public_key_in(public_key);
  if (key == nullptr || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) return false;
  const DigestContext context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(data),
                          data.size()) == 1;
}

std::string key_id(const std::string& public_key) { return thumbprint(numbers_of(public_key)); }

json jwk_of(const std::string& public_key) {
  const Numbers numbers = numbers_of(public_key);
  return {{"kty", key_type},  {"n", numbers.modulus}, {"e", numbers.exponent},
          {"alg", algorithm}, {"use", "sig"},         {"kid", thumbprint(numbers)}};
}

}  // namespace berth::rsa
