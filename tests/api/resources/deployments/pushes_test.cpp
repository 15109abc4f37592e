// Deploys on push and previews through the API.
#include <catch2/catch.hpp>

#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

struct Fixture : Operator {
  std::string id;
  std::string path;
  Fixture() {
    json wanted = json::parse(order());
    wanted["auto_deploy"] = true;
    wanted["env_vars"] = {{"SECRET", "x"}};
    id = g.ask("POST", "/api/deploy/apps", {token}, wanted.dump()).body["id"];
    path = "/api/deploy/apps/" + id;
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "what follows a tag is shown, with its hook", "[pushes_api_test]") {
  const json shown = g.ask("GET", path + "/auto-deploy", {token}).body;
  CHECK(shown["auto_deploy"] == true);
  CHECK(shown["image"] == "ghcr.io/acme/web:1");
  CHECK(shown["has_hook"] == false);
  const auto made = g.ask("POST", path + "/auto-deploy/hook", {token});
  REQUIRE(made.status == 201);
  const std::string url = made.body["url"];
  const std::string hook = url.substr(url.find("/api/"));
  CHECK(g.ask("GET", path + "/auto-deploy", {token}).body["has_hook"] == true);
  // The body may be anything, and nobody is logged in.
  CHECK(g.ask("POST", hook, {}, R"({"events": []})").status == 202);
  CHECK(g.ask("POST", hook, {}).status == 202);
  CHECK(g.ask("POST", hook + "x", {}).error() == "404 deployment_not_found");
  CHECK(g.ask("POST", path + "/push-hook", {}).error() == "422 validation_failed");
  // Only the first call changes something, and has an entry in the audit log.
  for (int i = 0; i < 2; ++i)
    CHECK(g.ask("DELETE", path + "/auto-deploy/hook", {token}).status == 200);
  CHECK(g.world.read([](db::Tx& tx) {
    return tx.number(R"(SELECT count(*) FROM audit_log WHERE action = 'deletePushHook')");
  }) == 1);
  CHECK(g.ask("POST", hook, {}).error() == "404 deployment_not_found");
}

TEST_CASE_METHOD(Fixture, "a deployment that follows no tag has no hook", "[pushes_api_test]") {
  g.ask("PATCH", path, {token}, R"({"auto_deploy": false})");
  CHECK(g.ask("POST", path + "/auto-deploy/hook", {token}).error() == "409 invalid_state");
}

TEST_CASE_METHOD(Fixture, "a preview is a deployment without the variables, for a time",
                 "[pushes_api_test]") {
  const json wanted = {{"name", "shop-2"}, {"ttl_seconds", 3600}, {"budget", 10}};
  const auto made = g.ask("POST", path + "/previews", {token}, wanted.dump());
  REQUIRE(made.status == 201);
  const json preview = made.body["preview"];
  CHECK(preview["deployment"]["env_keys"].empty());
  CHECK(preview["deployment"]["labels"]["preview-of"] == "shop");
  CHECK(preview["expires_at"] == "2026-01-31T13:00:00.000Z");
  CHECK(g.ask("GET", path + "/previews", {token}).body["previews"].size() == 1);
  const std::string of_preview =
      "/api/deploy/apps/" + preview["deployment"]["id"].get<std::string>() + "/previews";
  CHECK(g.ask("POST", of_preview, {token}, json{{"name", "shop-3"}}.dump()).error() ==
        "409 invalid_state");
  CHECK(g.ask("POST", path + "/previews", {token},
              json{{"name", "shop-4"}, {"ttl_seconds", 59}}.dump())
            .error() == "422 validation_failed");
}

TEST_CASE_METHOD(Fixture, "a preview has no variable PORT of the request, and says so",
                 "[pushes_api_test]") {
  const json wanted = {{"name", "shop-2"}, {"env_vars", {{"PORT", "1"}, {"STAGE", "preview"}}}};
  const auto made = g.ask("POST", path + "/previews", {token}, wanted.dump());
  REQUIRE(made.status == 201);
  CHECK(made.body["preview"]["deployment"]["env_keys"] == json::array({"STAGE"}));
  CHECK(made.body["warnings"].size() == 1);
}
