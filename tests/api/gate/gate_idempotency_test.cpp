// The header Idempotency-Key.
#include <catch2/catch.hpp>
#include <thread>

#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

struct Fixture : Operator {
  Answered create(const std::string& key, const std::string& body) {
    return create(key, body, token);
  }
  Answered create(const std::string& key, const std::string& body, const Header& by) {
    return g.ask("POST", "/api/deploy/apps", {by, {"Idempotency-Key", key}}, body);
  }
  std::int64_t rows() {
    return g.world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM deployments"); });
  }
};

TEST_CASE("the same key and body return the first answer byte for byte, without doing it again") {
  Fixture f;
  const auto first = f.create("key", f.order());
  REQUIRE(first.status == 201);
  f.g.world.clock.advance(1min);
  // The first answer is returned although the deployment has changed since.
  f.g.ask("POST", "/api/deploy/apps/" + first.body["id"].get<std::string>() + "/stop", {f.token});
  const auto second = f.create("key", f.order());
  CHECK(second.status == 201);
  CHECK(second.text == first.text);
  CHECK(f.rows() == 1);
  CHECK(f.create("other", f.order()).error() == "409 subdomain_taken");
}

TEST_CASE("the same key with another body is a conflict") {
  Fixture f;
  CHECK(f.create("key", f.order("one")).status == 201);
  CHECK(f.create("key", f.order("two")).error() == "409 idempotency_conflict");
  CHECK(f.rows() == 1);
}

TEST_CASE("the same JSON value is the same body, however it is written") {
  Fixture f;
  const auto first =
      f.create("key", R"({"name":"one","image":"ghcr.io/acme/web:1","tier":"wide","port":5000})");
  REQUIRE(first.status == 201);
  for (const char* same :
       {R"({"port":5000,"tier":"wide","image":"ghcr.io/acme/web:1","name":"one"})",
        R"( { "name" : "one", "image": "ghcr.io/acme/web:1", "tier": "wide", "port": 5000 } )",
        R"({"name":"\u006fne","image":"ghcr.io/acme/web:1","tier":"wide","port":5000.0})",
        R"({"name":"one","image":"ghcr.io/acme/web:1","tier":"wide","port":5e3})"}) {
    INFO(same);
    CHECK(f.create("key", same).text == first.text);
  }
  CHECK(f.create("key", R"({"name":"one","image":"ghcr.io/acme/web:1","tier":"wide","port":5001})")
            .error() == "409 idempotency_conflict");
  CHECK(f.rows() == 1);
}

TEST_CASE("an empty key is refused") {
  Fixture f;
  CHECK(f.create("", f.order()).error() == "400 malformed_request");
  CHECK(f.rows() == 0);
}

TEST_CASE("refusals are stored as well, except for rate limits and internal errors") {
  Fixture f;
  REQUIRE(f.create("a", f.order()).status == 201);
  const auto refused = f.create("b", f.order());
  CHECK(refused.error() == "409 subdomain_taken");
  const auto rows = f.g.world.read([](db::Tx& tx) { return deployments::all_with_objects(tx); });
  f.g.world.destroy(f.app, rows.at(0));
  const auto again = f.create("b", f.order());
  CHECK(again.error() == "409 subdomain_taken");
  CHECK(again.text == refused.text);
  CHECK(f.create("c", f.order()).status == 201);
}

TEST_CASE("a refused limit isn't stored: the same key works once there is room") {
  Fixture f;
  const auto free = [&](const std::string& name) {
    return json{{"name", name}, {"image", "ghcr.io/a/b"}, {"tier", "free"}}.dump();
  };
  const auto first = f.create("a", free("one"));
  REQUIRE(first.status == 201);
  CHECK(f.create("b", free("two")).error() == "429 deployment_limit_reached");
  f.g.world.destroy(f.app, first.body["id"]);
  CHECK(f.create("b", free("two")).status == 201);
}

TEST_CASE("a stored refusal of a field keeps its details") {
  Fixture f;
  const std::string long_key = std::string(127, 'K') + "🌱🌱";
  const std::string body = json{
      {"name", "shop"},
      {"image", "ghcr.io/a/b"},
      {"tier", "wide"},
      {"env_vars",
       {{long_key, "x"}}}}.dump();
  const auto first = f.create("key", body);
  CHECK(first.error() == "422 validation_failed");
  CHECK(first.body["error"]["details"].contains("env_vars." + std::string(127, 'K')));
  CHECK(f.create("key", body).text == first.text);
}

TEST_CASE("a key belongs to its caller, method and path") {
  Fixture f;
  const auto bob = f.g.world.verified_user("bob");
  const auto bobs = f.g.world.approved_app(bob, {Scope::deploy_manage});
  const Header by_bob = bearer(f.g.world.tokens(bobs, bob, "deploy:manage").access_token);
  const auto first = f.create("key", f.order("one"));
  const auto second = f.create("key", f.order("two"), by_bob);
  CHECK(second.status == 201);
  CHECK(second.body["id"] != first.body["id"]);
  // The key is new on another path.
  const std::string path = "/api/deploy/apps/" + first.body["id"].get<std::string>();
  CHECK(f.g.ask("POST", path + "/stop", {f.token, {"Idempotency-Key", "key"}}).body["status"] ==
        "stopped");
  CHECK(f.g.ask("POST", path + "/restart", {f.token, {"Idempotency-Key", "key"}}).body["status"] ==
        "deploying");
  CHECK(f.g.ask("POST", path + "/stop", {f.token, {"Idempotency-Key", "key"}}).body["status"] ==
        "stopped");
  CHECK(f.g.world.find_deployment(first.body["id"]).status == deployments::Status::deploying);
}

TEST_CASE("the key is looked up after the token was checked") {
  Fixture f;
  CHECK(f.create("key", f.order()).status == 201);
  CHECK(f.create("key", f.order(), bearer("at_live_wrong")).error() == "401 invalid_token");
  CHECK(f.create("key", f.order(), bearer(f.g.world.tokens(f.app, f.user).access_token)).error() ==
        "403 insufficient_scope");
  // Another token of the same app and user belongs to the same caller.
  const auto other = f.g.world.tokens(f.app, f.user, "deploy:manage");
  CHECK(f.create("key", f.order(), bearer(other.access_token)).status == 201);
  CHECK(f.rows() == 1);
}

TEST_CASE("a key is kept for 24 hours") {
  Operator f;
  const std::string body =
      json{{"account", {{"kind", "treasury"}}}, {"amount", 5}, {"reason", "test"}}.dump();
  const auto mint = [&] {
    return f.g.ask("POST", "/api/internal/points/mint", {f.g.admin[0], {"Idempotency-Key", "key"}},
                   body);
  };
  const auto first = mint();
  REQUIRE(first.status == 201);
  f.g.world.clock.advance(24h - 1ms);
  CHECK(mint().text == first.text);
  CHECK(f.g.world.balance(ledger::treasury()) == 5);
  f.g.world.clock.advance(1ms);
  CHECK(mint().text != first.text);
  CHECK(f.g.world.balance(ledger::treasury()) == 10);
  CHECK(f.g.world.read(
            [](db::Tx& tx) { return tx.number("SELECT count(*) FROM idempotency_keys"); }) == 1);
}

TEST_CASE("a key has at most 255 characters") {
  Fixture f;
  CHECK(f.create(std::string(256, 'k'), f.order()).error() == "400 malformed_request");
  CHECK(f.rows() == 0);
  CHECK(f.create(std::string(255, 'k'), f.order()).status == 201);
}

TEST_CASE("neither bodies nor their contents are stored") {
  Fixture f;
  const std::string body = json{{"name", "shop"},
                                {"image", "ghcr.io/a/b"},
                                {"tier", "wide"},
                                {"env_vars", {{"PASSWORD", "hunter2"}}}}
                               .dump();
  CHECK(f.create("key", body).status == 201);
  CHECK(f.create("key", body).text.find("hunter2") == std::string::npos);
  CHECK(f.g.world.read([](db::Tx& tx) {
    return tx.number(
        "SELECT count(*) FROM idempotency_keys WHERE instr(body || request_hash, 'hunter2') > 0");
  }) == 0);
}

TEST_CASE("two simultaneous requests with one key have one effect") {
  Fixture f;
  f.create("warm-up", "{}");
  std::vector<Answered> answers(4);
  {
    std::vector<std::jthread> threads;
    for (auto& answer : answers) threads.emplace_back([&] { answer = f.create("key", f.order()); });
  }
  for (const auto& answer : answers) {
    CHECK(answer.status == 201);
    CHECK(answer.text == answers[0].text);
  }
  CHECK(f.rows() == 1);
}

TEST_CASE("operations that answer with a secret ignore the key") {
  Operator f;
  const std::string body =
      json{{"app_name", "Another"}, {"redirect_uris", {berth::test::redirect_uri}}}.dump();
  const auto create = [&] {
    return f.g.ask("POST", "/api/oauth/apps", {bearer(f.jwt), {"Idempotency-Key", "key"}}, body);
  };
  CHECK(create().body["app"]["client_secret"] != create().body["app"]["client_secret"]);
  CHECK(f.g.world.read(
            [](db::Tx& tx) { return tx.number("SELECT count(*) FROM idempotency_keys"); }) == 0);
}

TEST_CASE("what is stored beside an answer is short, however long the path is") {
  Fixture f;
  const std::string path = "/api/deploy/apps/" + std::string(8'000, 'x') + "/restart";
  const auto restart = [&] {
    return f.g.ask("POST", path, {f.token, {"Idempotency-Key", "key"}}, "").error();
  };
  CHECK(restart() == "404 deployment_not_found");
  CHECK(restart() == "404 deployment_not_found");
  const auto number = [&](const char* sql) {
    return f.g.world.read([&](db::Tx& tx) { return tx.number(sql); });
  };
  CHECK(number("SELECT count(*) FROM idempotency_keys") == 1);
  CHECK(number("SELECT max(length(path)) FROM idempotency_keys") < 100);
}

}  // namespace
