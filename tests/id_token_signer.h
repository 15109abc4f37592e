#pragma once

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "controller/base/crypto.h"
#include "controller/base/jwk.h"

namespace berth::test {

// A key of an issuer of ID tokens, as a CI service has one.
class IdTokenSigner {
 public:
  explicit IdTokenSigner(jwk::Algorithm algorithm, std::string id = "key-1", unsigned bits = 2048)
      : algorithm_(algorithm), id_(std::move(id)), key_(made(algorithm, bits), EVP_PKEY_free) {
    if (!key_) throw std::runtime_error("OpenSSL makes no key");
  }

  // The public key as a JWK, and a set with nothing else.
  nlohmann::json public_jwk() const {
    nlohmann::json jwk = {{"kid", id_}, {"use", "sig"}, {"alg", to_string(algorithm_)}};
    switch (algorithm_) {
      case jwk::Algorithm::rs256:
        jwk.update({{"kty", "RSA"},
                    {"n", number(OSSL_PKEY_PARAM_RSA_N, 0)},
                    {"e", number(OSSL_PKEY_PARAM_RSA_E, 0)}});
        break;
      case jwk::Algorithm::es256:
        jwk.update({{"kty", "EC"},
                    {"crv", "P-256"},
                    {"x", number(OSSL_PKEY_PARAM_EC_PUB_X, half)},
                    {"y", number(OSSL_PKEY_PARAM_EC_PUB_Y, half)}});
        break;
      case jwk::Algorithm::eddsa: {
        std::string bytes(half, '\0');
        std::size_t length = bytes.size();
        EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(bytes.data()),
                                    &length);
        jwk.update({{"kty", "OKP"}, {"crv", "Ed25519"}, {"x", base64url(bytes)}});
        break;
      }
    }
    return jwk;
  }
  nlohmann::json key_set() const { return {{"keys", nlohmann::json::array({public_jwk()})}}; }
  jwk::Key key() const { return jwk::keys_in(key_set()).value().at(0); }

  // A token with these claims. `header` changes the fields of its header.
  std::string sign(const nlohmann::json& claims,
                   const nlohmann::json& header = nlohmann::json::object()) const {
    nlohmann::json fields = {{"alg", to_string(algorithm_)}, {"typ", "JWT"}, {"kid", id_}};
    fields.update(header);
    const std::string part = base64url(fields.dump()) + "." + base64url(claims.dump());
    return part + "." + base64url(signature_of(part));
  }

 private:
  static constexpr std::size_t half = 32;

  static EVP_PKEY* made(jwk::Algorithm algorithm, unsigned bits) {
    switch (algorithm) {
      case jwk::Algorithm::rs256:
        return EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t(bits));
      case jwk::Algorithm::es256:
        return EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
      case jwk::Algorithm::eddsa:
        break;
    }
    return EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  }

  // A number of the key in base64url, with at least `length` bytes.
  std::string number(const char* name, std::size_t length) const {
    BIGNUM* value = nullptr;
    if (EVP_PKEY_get_bn_param(key_.get(), name, &value) != 1)
      throw std::runtime_error("OpenSSL has no such number");
    std::string bytes(std::max(length, std::size_t(BN_num_bytes(value))), '\0');
    BN_bn2binpad(value, reinterpret_cast<unsigned char*>(bytes.data()), int(bytes.size()));
    BN_free(value);
    return base64url(bytes);
  }

  std::string signature_of(const std::string& text) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          EVP_MD_CTX_free);
    const auto* data = reinterpret_cast<const unsigned char*>(text.data());
    const bool is_eddsa = algorithm_ == jwk::Algorithm::eddsa;
    EVP_DigestSignInit(context.get(), nullptr, is_eddsa ? nullptr : EVP_sha256(), nullptr,
                       key_.get());
    std::size_t length = 0;
    EVP_DigestSign(context.get(), nullptr, &length, data, text.size());
    std::string bytes(length, '\0');
    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(bytes.data()), &length, data,
                   text.size());
    bytes.resize(length);
    return algorithm_ == jwk::Algorithm::es256 ? in_halves(bytes) : bytes;
  }

  // RFC 7518, section 3.4.
  static std::string in_halves(const std::string& der) {
    const auto* data = reinterpret_cast<const unsigned char*>(der.data());
    const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
        d2i_ECDSA_SIG(nullptr, &data, long(der.size())), ECDSA_SIG_free);
    std::string bytes(2 * half, '\0');
    auto* out = reinterpret_cast<unsigned char*>(bytes.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), out, int(half));
    BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), out + half, int(half));
    return bytes;
  }

  jwk::Algorithm algorithm_;
  std::string id_;
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

}  // namespace berth::test
