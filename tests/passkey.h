#pragma once

#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "controller/base/crypto.h"

// An authenticator and a browser of the tests' own (WebAuthn Level 3), with keys made by OpenSSL,
// so that berth's checks aren't tested with the library that they use.
namespace berth::test {

class Authenticator {
 public:
  static constexpr int es256 = -7, eddsa = -8, rs256 = -257;
  static constexpr unsigned char present = 0x01, verified = 0x04, eligible = 0x08, backed_up = 0x10,
                                 credential = 0x40, extensions = 0x80;

  explicit Authenticator(std::string at, std::string of, int with = es256)
      : algorithm(with), origin(std::move(at)), rp_id(std::move(of)) {
    EVP_PKEY* made = with == es256   ? EVP_EC_gen("P-256")
                     : with == eddsa ? EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")
                                     : EVP_RSA_gen(2048);
    key_.reset(made, EVP_PKEY_free);
  }

  int algorithm;
  std::string origin, rp_id;
  std::string id = random_bytes(32);
  std::string user_handle;
  std::uint32_t sign_count = 0;
  unsigned char flags = present | verified;
  // Further fields of the client data, or other values of its own.
  nlohmann::json client_data = nlohmann::json::object();
  std::string after_data;  // behind the authenticator data of an assertion

  std::string public_key() const {
    unsigned char* der = nullptr;
    const int length = i2d_PUBKEY(key_.get(), &der);
    const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(
        der, [](unsigned char* bytes) { OPENSSL_free(bytes); });
    return {reinterpret_cast<const char*>(der), size_t(length)};
  }
  std::string client(const char* type, const std::string& challenge) const {
    nlohmann::json data = {
        {"type", type}, {"challenge", challenge}, {"origin", origin}, {"crossOrigin", false}};
    data.update(client_data);
    return data.dump();
  }
  std::string header(unsigned char with_flags) const {
    std::string data = sha256(rp_id) + char(with_flags);
    for (int shift = 24; shift >= 0; shift -= 8) data += char(sign_count >> shift & 0xff);
    return data;
  }
  // Authenticator data of a new credential. Its public key is in CBOR, which berth doesn't read.
  std::string creation_data() const {
    return header(flags | credential) + std::string(16, '\0') + char(id.size() >> 8) +
           char(id.size() & 0xff) + id + "\xa0";
  }
  std::string sign(const std::string& data) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          EVP_MD_CTX_free);
    const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
    EVP_DigestSignInit(context.get(), nullptr, algorithm == eddsa ? nullptr : EVP_sha256(), nullptr,
                       key_.get());
    size_t length = 0;
    EVP_DigestSign(context.get(), nullptr, &length, bytes, data.size());
    std::string signature(length, '\0');
    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length,
                   bytes, data.size());
    signature.resize(length);
    return signature;
  }

  // What a browser makes of the options that berth returned: a RegistrationResponseJSON.
  nlohmann::json create(const nlohmann::json& options) {
    user_handle = parse_base64url(options.at("user").at("id").get<std::string>()).value();
    return {{"id", base64url(id)},
            {"rawId", base64url(id)},
            {"type", "public-key"},
            {"clientExtensionResults", nlohmann::json::object()},
            {"response",
             {{"clientDataJSON", base64url(client("webauthn.create", options.at("challenge")))},
              {"authenticatorData", base64url(creation_data())},
              {"publicKey", base64url(public_key())},
              {"publicKeyAlgorithm", algorithm},
              {"transports", {"internal"}}}}};
  }
  // The same for an AuthenticationResponseJSON.
  nlohmann::json get(const nlohmann::json& options) {
    ++sign_count;
    const std::string data = header(flags) + after_data;
    const std::string said = client("webauthn.get", options.at("challenge"));
    return {{"id", base64url(id)},
            {"rawId", base64url(id)},
            {"type", "public-key"},
            {"clientExtensionResults", nlohmann::json::object()},
            {"response",
             {{"clientDataJSON", base64url(said)},
              {"authenticatorData", base64url(data)},
              {"signature", base64url(sign(data + sha256(said)))},
              {"userHandle", base64url(user_handle)}}}};
  }

 private:
  std::shared_ptr<EVP_PKEY> key_;
};

}  // namespace berth::test
