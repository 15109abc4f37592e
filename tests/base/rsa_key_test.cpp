#include "controller/base/rsa_key.h"

#include <catch2/catch.hpp>

#include "controller/base/crypto.h"

namespace {

using namespace berth;

TEST_CASE("a signature is verified by the public key, and by no other") {
  const std::string key = rsa::new_private_key();
  const std::string known = rsa::public_key_of(key);
  const std::string signature = rsa::sign(key, "a text");
  CHECK(signature.size() == rsa::key_bits / 8);
  CHECK(rsa::verifies(known, "a text", signature));
  CHECK_FALSE(rsa::verifies(known, "another text", signature));
  CHECK_FALSE(rsa::verifies(known, "a text", signature.substr(1)));
  CHECK_FALSE(rsa::verifies(known, "a text", ""));
  CHECK_FALSE(rsa::verifies("no key", "a text", signature));
  CHECK_FALSE(rsa::verifies(rsa::public_key_of(rsa::new_private_key()), "a text", signature));
  CHECK_THROWS(rsa::sign("no key", "a text"));
}

TEST_CASE("a JWK names its key by the thumbprint of RFC 7638") {
  const std::string known = rsa::public_key_of(rsa::new_private_key());
  const auto jwk = rsa::jwk_of(known);
  CHECK(jwk.at("kty") == "RSA");
  CHECK(jwk.at("e") == "AQAB");
  CHECK(jwk.at("alg") == "RS256");
  CHECK(jwk.at("use") == "sig");
  const std::string n = jwk.at("n");
  CHECK(parse_base64url(n).value().size() == rsa::key_bits / 8);
  CHECK(jwk.at("kid") == base64url(sha256(R"({"e":"AQAB","kty":"RSA","n":")" + n + R"("})")));
  CHECK(jwk.at("kid") == rsa::key_id(known));
  CHECK(jwk.size() == 6);  // nothing of the private key
}

TEST_CASE("SHA-512 of the standard's example") {
  // FIPS 180-4, example for "abc".
  CHECK(hex(sha512("abc")).starts_with("ddaf35a193617abacc417349ae204131"));
  CHECK(sha512("abc").size() == 64);
}

}  // namespace
