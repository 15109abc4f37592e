// Containers over the API: a trust in the issuer berth, and the exchange of their tokens.
#include <catch2/catch.hpp>

#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

constexpr const char* exchange_grant = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr const char* jwt_type = "urn:ietf:params:oauth:token-type:jwt";

// A cluster in which the token of a container is the deployment's id behind "token:". The text
// "token:ID:gone" is one of a container that is gone.
struct Fixture {
  Operator o;
  std::string trusts = "/api/oauth/my-apps/" + o.app.id + "/trusts";
  int questions = 0;
  bool cluster_answers = true;

  Fixture() {
    o.g.services.cluster.identity_in =
        [this](std::string_view token) -> std::optional<deployments::Identity> {
      constexpr size_t length = 36;
      if (!token.starts_with("token:")) return std::nullopt;
      return deployments::Identity{.app_id = o.app.id,
                                   .deployment_id = std::string(token.substr(6, length))};
    };
    o.g.services.cluster.proves_identity = [this](const std::string& token) {
      ++questions;
      if (!cluster_answers) throw Error(Code::unavailable, "the cluster doesn't answer");
      return !token.ends_with(":gone");
    };
  }
  std::string deploy(const std::string& name, bool identity = true) {
    json order = json::parse(o.order(name));
    order["identity"] = identity;
    const auto made = o.g.ask("POST", "/api/deploy/apps", {o.token}, order.dump());
    REQUIRE(made.status == 201);
    return made.body.at("id");
  }
  json order() const {
    return {{"issuer", "berth"},
            {"audience", o.g.services.base_url},
            {"claims", json::object()},
            {"scopes", json::array({"deploy:read", "logs:read"})}};
  }
  Answered trust(const json& body) { return o.g.ask("POST", trusts, {bearer(o.jwt)}, body.dump()); }
  std::string trust_id(const json& body) {
    const auto made = trust(body);
    REQUIRE(made.status == 201);
    return made.body.at("trust").at("id");
  }
  Answered exchange(const std::string& id, const json& changes = json::object()) {
    json body = {{"grant_type", exchange_grant},
                 {"subject_token", "token:" + id},
                 {"subject_token_type", jwt_type}};
    body.merge_patch(changes);
    return o.g.ask("POST", "/api/oauth/token", {}, body.dump());
  }
  std::string token_of(const std::string& id) {
    const auto answer = exchange(id);
    REQUIRE(answer.status == 200);
    return answer.body.at("access_token");
  }
  Answered look(const std::string& id, const std::string& token) {
    return o.g.ask("GET", "/api/deploy/apps/" + id, {bearer(token)});
  }
};

TEST_CASE("a container exchanges its token for one of its own deployment") {
  Fixture f;
  const std::string shop = f.deploy("shop"), other = f.deploy("other");
  f.trust_id(f.order());
  const auto answer = f.exchange(shop);
  REQUIRE(answer.status == 200);
  CHECK(answer.body.at("expires_in") == 900);
  CHECK(answer.body.at("issued_token_type") == "urn:ietf:params:oauth:token-type:access_token");
  CHECK_FALSE(answer.body.contains("refresh_token"));
  const std::string token = answer.body.at("access_token");
  CHECK(f.look(shop, token).status == 200);
  CHECK(f.look(other, token).error() == "403 forbidden");
  CHECK(f.o.g.ask("POST", "/api/deploy/apps/" + shop + "/stop", {bearer(token)}).error() ==
        "403 insufficient_scope");
  // The file is read again, by this process and others.
  CHECK(f.exchange(shop, {{"scope", "deploy:read"}}).body.at("scope") == "deploy:read");
  CHECK(f.exchange(shop, {{"scope", "deploy:write"}}).error() == "400 invalid_scope");
  CHECK(f.exchange(shop, {{"audience", f.o.app.client_id}}).status == 200);
  CHECK(f.exchange(shop, {{"audience", "client_other"}}).error() == "400 invalid_target");
}

TEST_CASE("the cluster is asked only about tokens that could give something") {
  Fixture f;
  const std::string shop = f.deploy("shop"), plain = f.deploy("plain", false);
  CHECK(f.exchange(shop).error() == "400 invalid_request");  // no trust
  f.trust_id(f.order());
  CHECK(f.exchange(plain).error() == "400 invalid_request");
  CHECK(f.exchange("01936f5e-7c1a-7000-8000-0000000000ff").error() == "400 invalid_request");
  CHECK(f.questions == 0);
  CHECK(f.exchange(shop + ":gone").error() == "400 invalid_request");
  CHECK(f.questions == 1);
  f.cluster_answers = false;
  const auto unanswered = f.exchange(shop);
  CHECK(unanswered.status == 503);
  CHECK(unanswered.body.at("errors").at("code") == "unavailable");
}

TEST_CASE("a trust in berth may be for some deployments, and names no claims") {
  Fixture f;
  const std::string shop = f.deploy("shop"), other = f.deploy("other");
  json body = f.order();
  CHECK(f.trust(body).body.at("warnings").size() == 1);
  f.o.g.ask(
      "DELETE",
      f.trusts + "/" +
          f.o.g.ask("GET", f.trusts, {bearer(f.o.jwt)}).body["trusts"][0]["id"].get<std::string>(),
      {bearer(f.o.jwt)});
  body["claims"] = {{"sub", "x"}};
  CHECK(f.trust(body).error() == "422 validation_failed");
  body["claims"] = json::object();
  body["audience"] = "https://other.example.org";
  CHECK(f.trust(body).error() == "422 validation_failed");
  body["audience"] = f.o.g.services.base_url;
  body["scopes"] = json::array({"points:spend"});
  CHECK(f.trust(body).error() == "422 validation_failed");
  body["scopes"] = json::array({"deploy:read"});
  body["deployments"] = json::array({other});
  const auto made = f.trust(body);
  REQUIRE(made.status == 201);
  CHECK_FALSE(made.body.contains("warnings"));
  CHECK(made.body.at("trust").at("name") == "Containers");
  CHECK(f.exchange(shop).error() == "400 invalid_request");
  CHECK(f.exchange(other).status == 200);
  // Nobody can make a token of a CI service that this trust accepts.
  CHECK(f.o.g
            .ask("POST", "/api/internal/issuers", f.o.g.admin,
                 json{{"issuer", "berth"}, {"name", "x"}, {"kind", "other"}}.dump())
            .error() == "422 validation_failed");
}

TEST_CASE("a container's tokens end with its trust, its identity and its deployment") {
  Fixture f;
  const std::string shop = f.deploy("shop"), other = f.deploy("other");
  const std::string trust = f.trust_id(f.order());
  const std::string path = "/api/deploy/apps/" + shop;
  std::string token = f.token_of(shop);
  const std::string untouched = f.token_of(other);
  f.o.g.ask("POST", path + "/stop", {f.o.token});
  CHECK(f.look(shop, token).error() == "401 token_revoked");
  CHECK(f.exchange(shop).error() == "400 invalid_request");
  f.o.g.ask("POST", path + "/restart", {f.o.token});
  token = f.token_of(shop);
  CHECK(f.look(shop, token).status == 200);
  REQUIRE(f.o.g.ask("PATCH", path, {f.o.token}, json{{"identity", false}}.dump()).status == 200);
  CHECK(f.look(shop, token).error() == "401 token_revoked");
  CHECK(f.look(other, untouched).status == 200);
  REQUIRE(f.o.g.ask("DELETE", f.trusts + "/" + trust, {bearer(f.o.jwt)}).status == 200);
  CHECK(f.look(other, untouched).error() == "401 token_revoked");
}

TEST_CASE("what a container exchanges counts for its app, and not for its network") {
  Fixture f;
  const std::string shop = f.deploy("shop");
  f.trust_id(f.order());
  f.o.g.services.rate_limits = true;
  const auto left = [&](const std::string& token) {
    return f.exchange(token).header("RateLimit-Remaining");
  };
  CHECK(left(shop + ":gone") == "299");  // of the network, because nothing was proven
  CHECK(left(shop) == "299");            // of the app
  CHECK(left(shop) == "298");
  CHECK(left(shop + ":gone") == "298");
  // Whoever proves nothing is stopped, as at other operations that are open to all.
  for (int i = 0; i < 298; ++i) f.exchange(shop + ":gone");
  CHECK(f.exchange(shop + ":gone").status == 429);
}

TEST_CASE("what containers store counts for the owner of their app, and not for their network") {
  Fixture f;
  const std::string shop = f.deploy("shop");
  f.trust_id(f.order());
  const auto use_up = [&](const write_budgets::Writer& writer) {
    const auto* budget = write_budgets::find(write_budgets::Stores::sign_in);
    f.o.g.services.admission.write_counts->charge(writer, budget->stores, budget->network,
                                                  f.o.g.world.clock.now());
  };
  write_budgets::Writer network, owner;
  network.address = f.o.g.remote_address;
  use_up(network);
  const json other = {{"grant_type", "client_credentials"}};
  CHECK(f.o.g.ask("POST", "/api/oauth/token", {}, other.dump()).status == 429);
  for (const json& odd : {json{{"grant_type", 5}}, json::array(), json()})
    CHECK(f.o.g.ask("POST", "/api/oauth/token", {}, odd.dump()).status < 500);
  CHECK(f.exchange(shop).status == 200);
  owner.owner_id = f.o.user.id;
  use_up(owner);
  CHECK(f.exchange(shop).status == 429);
  CHECK(f.exchange(shop + ":gone").status == 400);
}

}  // namespace
