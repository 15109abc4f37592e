#include "controller/base/jws.h"

#include <catch2/catch.hpp>

#include "controller/base/crypto.h"

namespace {

using namespace berth;
using nlohmann::json;

// The key of RFC 8037, appendix A.
const std::string seed = *parse_base64url("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A");
constexpr const char* public_key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

TEST_CASE("keys, thumbprints and signatures are those of RFC 8037") {
  CHECK(base64url(jws::public_key_of(seed)) == public_key);
  CHECK(jws::key_id(jws::public_key_of(seed)) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
  const std::string signed_part = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
  const std::string signature = jws::sign_bytes(seed, signed_part);
  CHECK(base64url(signature) ==
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg");
  CHECK(jws::verifies(jws::public_key_of(seed), signed_part, signature));
  CHECK_FALSE(jws::verifies(jws::public_key_of(seed), signed_part + "x", signature));
  CHECK_FALSE(jws::verifies(jws::public_key_of(seed), signed_part, signature.substr(1)));
  CHECK_FALSE(jws::verifies("short", signed_part, signature));
}

TEST_CASE("a JWK gives its public key, and others give none") {
  const json jwk = jws::jwk_of(jws::public_key_of(seed));
  CHECK(jwk.at("x") == public_key);
  CHECK(jws::public_key_in(jwk) == jws::public_key_of(seed));
  for (const json& other :
       {json("text"), json::object(), json{{"kty", "RSA"}, {"crv", "Ed25519"}, {"x", public_key}},
        json{{"kty", "OKP"}, {"crv", "Ed25519"}, {"x", "AAAA"}},
        json{{"kty", "OKP"}, {"crv", "Ed25519"}, {"x", 7}}})
    CHECK_FALSE(jws::public_key_in(other));
}

TEST_CASE("what was signed is parsed again") {
  const auto parsed = jws::parse(jws::sign(seed, "a-type", {{"a", 1}}));
  REQUIRE(parsed);
  CHECK(parsed->type == "a-type");
  CHECK(parsed->payload == json{{"a", 1}});
  CHECK(parsed->key_id == jws::key_id(jws::public_key_of(seed)));
  CHECK(jws::verifies(jws::public_key_of(seed), parsed->signed_part, parsed->signature));
}

TEST_CASE("other texts aren't parsed") {
  const auto with_header = [](const json& header) {
    return base64url(header.dump()) + "." + base64url("{}") + ".AAAA";
  };
  CHECK(jws::parse(with_header({{"alg", "EdDSA"}})));
  CHECK_FALSE(jws::parse(with_header({{"alg", "none"}})));
  CHECK_FALSE(jws::parse(with_header({{"alg", "HS256"}})));
  CHECK_FALSE(jws::parse(with_header({{"alg", "EdDSA"}, {"crit", json::array({"exp"})}})));
  for (const std::string& text :
       {std::string(), std::string("."), std::string(".."), std::string("a.b.c"),
        base64url("[]") + "." + base64url("{}") + ".AAAA",
        base64url(R"({"alg":"EdDSA"})") + "." + base64url("[1]") + ".AAAA",
        base64url(R"({"alg":"EdDSA"})") + "." + base64url("{}") + ".A=",
        std::string(jws::max_bytes + 1, 'a')})
    CHECK_FALSE(jws::parse(text));
}

}  // namespace
