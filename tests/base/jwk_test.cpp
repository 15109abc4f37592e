#include "controller/base/jwk.h"

#include <catch2/catch.hpp>

#include "controller/base/crypto.h"
#include "tests/id_token_signer.h"

namespace {

using namespace berth;
using berth::test::IdTokenSigner;
using jwk::Algorithm;
using nlohmann::json;

constexpr Algorithm all[] = {Algorithm::rs256, Algorithm::es256, Algorithm::eddsa};

std::size_t keys_of(const json& key) {
  return jwk::keys_in({{"keys", json::array({key})}}).value().size();
}

TEST_CASE("the key of RFC 7515, appendix A.3, verifies its signature") {
  const json key = {{"kty", "EC"},
                    {"crv", "P-256"},
                    {"kid", "a3"},
                    {"x", "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"},
                    {"y", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}};
  jwk::Token token = {
      .algorithm = Algorithm::es256,
      .key_id = "a3",
      .claims = json::object(),
      .signed_part =
          "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6"
          "Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
      .signature = *parse_base64url("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-"
                                    "F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")};
  const auto keys = jwk::keys_in({{"keys", json::array({key})}}).value();
  REQUIRE(keys.size() == 1);
  CHECK(jwk::verifies(keys[0], token));
  token.signed_part += "x";
  CHECK_FALSE(jwk::verifies(keys[0], token));
}

TEST_CASE("each algorithm verifies what its key has signed, and nothing else") {
  for (const Algorithm algorithm : all) {
    CAPTURE(to_string(algorithm));
    const IdTokenSigner signer(algorithm);
    const IdTokenSigner other(algorithm);
    auto token = jwk::parse(signer.sign({{"sub", "job"}})).value();
    CHECK(token.algorithm == algorithm);
    CHECK(token.key_id == "key-1");
    CHECK(token.claims == json{{"sub", "job"}});
    CHECK(jwk::verifies(signer.key(), token));
    CHECK_FALSE(jwk::verifies(other.key(), token));
    auto changed = token;
    changed.signed_part[changed.signed_part.size() - 1] ^= 1;
    CHECK_FALSE(jwk::verifies(signer.key(), changed));
    for (const std::string& signature : {std::string(), std::string(1, 'x'), std::string(64, '\0'),
                                         token.signature + "x", token.signature.substr(1)}) {
      changed = token;
      changed.signature = signature;
      CHECK_FALSE(jwk::verifies(signer.key(), changed));
    }
    for (const Algorithm wrong : all) {
      changed = token;
      changed.algorithm = wrong;
      CHECK(jwk::verifies(signer.key(), changed) == (wrong == algorithm));
    }
  }
}

TEST_CASE("tokens without a signature, with a secret, or of another type aren't parsed") {
  const IdTokenSigner signer(Algorithm::eddsa);
  const json claims = {{"sub", "job"}};
  CHECK(jwk::parse(signer.sign(claims)));
  CHECK(jwk::parse(signer.sign(claims, {{"typ", "jwt"}})));
  for (const json& header :
       {json{{"alg", "none"}}, json{{"alg", "HS256"}}, json{{"alg", "RS384"}}, json{{"alg", 7}},
        json{{"alg", "rs256"}}, json{{"kid", ""}}, json{{"kid", nullptr}}, json{{"typ", "receipt"}},
        json{{"typ", 7}}, json{{"crit", json::array({"exp"})}}})
    CHECK_FALSE(jwk::parse(signer.sign(claims, header)));
  const std::string good = signer.sign(claims);
  for (const std::string& text :
       {std::string(), std::string("."), std::string(".."), good + ".x", good + "=",
        good.substr(0, good.rfind('.')), "x" + good, signer.sign(json::array({1})),
        signer.sign({{"sub", std::string(jwk::max_token_bytes, 'x')}})})
    CHECK_FALSE(jwk::parse(text));
}

TEST_CASE("a set gives the keys that are for signatures, and leaves others out") {
  for (const Algorithm algorithm : all) {
    CAPTURE(to_string(algorithm));
    const json good = IdTokenSigner(algorithm).public_jwk();
    CHECK(keys_of(good) == 1);
    for (const json& change :
         {json{{"use", "enc"}}, json{{"key_ops", json::array({"sign"})}}, json{{"kid", ""}},
          json{{"alg", "HS256"}}, json{{"alg", "PS256"}}, json{{"kty", "oct"}}, json{{"x", "AAAA"}},
          json{{"crv", "P-384"}}, json{{"n", "AAAA"}}, json{{"e", "AA"}}, json{{"e", "Ag"}}}) {
      json changed = good;
      changed.update(change);
      const bool concerns_it =
          !change.contains("n") && !change.contains("e")
              ? algorithm != Algorithm::rs256 || (!change.contains("x") && !change.contains("crv"))
              : algorithm == Algorithm::rs256;
      CAPTURE(change.dump());
      CHECK(keys_of(changed) == (concerns_it ? 0 : 1));
    }
  }
  json off_curve = IdTokenSigner(Algorithm::es256).public_jwk();
  off_curve["y"] = off_curve["x"];
  CHECK(keys_of(off_curve) == 0);
  CHECK(keys_of(IdTokenSigner(Algorithm::rs256, "short", 1024).public_jwk()) == 0);
  for (const json& no_set : {json(), json::array(), json{{"keys", 7}}, json::object()})
    CHECK_FALSE(jwk::keys_in(no_set));
  json many = json::array();
  const json one = IdTokenSigner(Algorithm::eddsa).public_jwk();
  for (std::size_t i = 0; i < 2 * jwk::max_keys; ++i) many.push_back(one);
  CHECK(jwk::keys_in({{"keys", many}}).value().size() == jwk::max_keys);
}

}  // namespace
