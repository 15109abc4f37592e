// A new version that doesn't work, the rollback, and what the container uses.
#include <catch2/catch.hpp>

#include "tests/process/client.h"

using namespace berth::process;

namespace {

Answer patch(Client& api, const std::string& id, const json& change) {
  return api.ask({.method = "PATCH",
                  .path = "/api/deploy/apps/" + id,
                  .body = change.dump(),
                  .headers = {{"Content-Type", "application/json"}}});
}

json logs_of(Client& api, const std::string& id) {
  return expect(200, api.get("/api/deploy/apps/" + id + "/logs")).body.at("logs");
}

}  // namespace

TEST_CASE("a failing change leaves the page as it is, and one call reverts it") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada");
  const std::string id = deploy(ada.api, order("shop"));
  const std::string path = "/api/deploy/apps/" + id;
  wait_until_status(ada.api, id, "running");
  CHECK(ada.api.post(path + "/rollback").code() == "invalid_state");
  CHECK(ada.api.post(path + "/rollback", {{"to_log_id", id}}).code() == "log_entry_not_found");
  CHECK(ada.api.post(path + "/rollback", {{"to_log_id", 1}}).code() == "validation_failed");
  CHECK(ada.api.post("/api/deploy/apps/" + ada.app.id + "/rollback").code() ==
        "deployment_not_found");
  const std::string ran = logs_of(ada.api, id).back().at("id");

  expect(200, patch(ada.api, id, {{"image", "docker.io/library/crash:1"}}));
  CHECK(eventually([&] { return status_of(ada.api, id).at("reason") == "rollout_failed"; }));
  const json failed = status_of(ada.api, id);
  CHECK(failed.at("status") == "running");
  CHECK(failed.at("cause") == "crash_loop");
  CHECK(failed.at("health_status") == "healthy");
  CHECK(page_of(berthd, "shop").status == 200);

  const json back = expect(200, ada.api.post(path + "/rollback")).body;
  CHECK(back.at("status") == "deploying");
  CHECK_THAT(back.at("container_image").get<std::string>(),
             Catch::StartsWith("docker.io/library/hello:1@sha256:"));
  wait_until_status(ada.api, id, "running");
  CHECK(status_of(ada.api, id).at("reason").is_null());
  const json last = logs_of(ada.api, id).back();
  CHECK(last.at("action") == "deploy");
  CHECK(last.at("status") == "succeeded");
  CHECK(last.at("initiated_by") == ada.user.id);
  CHECK(last.at("details").at("kind") == "rollback");
  CHECK(last.at("details").at("duration_seconds") > 0);

  expect(200, patch(ada.api, id, {{"env_vars", {{"COLOR", "red"}}}}));
  wait_until_status(ada.api, id, "running");
  const json named = expect(200, ada.api.post(path + "/rollback", {{"to_log_id", ran}})).body;
  CHECK(named.at("env_keys") == json::array());
}

TEST_CASE("usage is reported as far as the cluster knows it") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada");
  const std::string id = deploy(ada.api, order("shop"));
  wait_until_status(ada.api, id, "running");
  const json used = expect(200, ada.api.get("/api/deploy/apps/" + id + "/metrics")).body;
  CHECK(used.at("cpu") > 0);
  CHECK(used.at("memory") > 1'000'000);
  CHECK(used.at("restarts") == 0);
  CHECK(used.at("requests").is_null());
  CHECK(ada.api.get("/api/deploy/apps/" + ada.app.id + "/metrics").code() ==
        "deployment_not_found");
  Operator bob = operator_with_token(berthd, "bob");
  CHECK(bob.api.get("/api/deploy/apps/" + id + "/metrics").code() == "forbidden");
  CHECK(bob.api.post("/api/deploy/apps/" + id + "/rollback").code() == "forbidden");
}

TEST_CASE("health is checked again and again") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada");
  const std::string id = deploy(ada.api, order("shop"));
  const json first = wait_until_status(ada.api, id, "running");
  CHECK(eventually([&] {
    const json now = status_of(ada.api, id);
    return now.at("health_status") == "healthy" &&
           now.at("last_health_check") > first.at("last_health_check");
  }));
}
