// An operator's whole way, from an account to a running container and back.
#include <catch2/catch.hpp>

#include "tests/process/client.h"

using namespace berth::process;

namespace {

// Returns the log's actions in order; consecutive equal ones count once.
std::vector<std::string> actions_of(const json& logs) {
  std::vector<std::string> actions;
  for (const json& entry : logs)
    if (actions.empty() || entry.at("action") != actions.back())
      actions.push_back(entry.at("action"));
  return actions;
}

}  // namespace

TEST_CASE("from an account to a token") {
  const Berthd berthd;
  const User registered = register_user(berthd, "ada");
  User ada = log_in(berthd, registered);
  CHECK(ada.id == registered.id);
  Client session(berthd, ada.jwt);

  const json me = expect(200, session.get("/api/auth/me")).body.at("user");
  CHECK(me.at("email") == "ada@example.org");
  CHECK(me.at("email_verified") == false);
  CHECK(me.at("points") == 0);
  const json app = {{"app_name", "A game"}, {"redirect_uris", {"https://game.example.org/cb"}}};
  CHECK(session.post("/api/oauth/apps", app).code() == "email_not_verified");

  verify_email(berthd, ada);
  CHECK_THROWS(verify_email(berthd, ada));  // the token works once
  CHECK(session.get("/api/auth/me").body["user"]["email_verified"] == true);
  const json created = expect(201, session.post("/api/oauth/apps", app)).body.at("app");
  CHECK(created.at("is_approved") == true);  // profile:read needs no approval

  const App game = create_app(berthd, ada, {"profile:read", "deploy:manage"});
  CHECK_THROWS(authorize(berthd, ada, game, {"deploy:manage"}));  // not approved
  approve(berthd, ada, game, {"deploy:manage"});
  const Code code = authorize(berthd, ada, game, {"profile:read", "deploy:manage"});
  Client anybody(berthd);
  const Answer given = expect(200, anybody.post("/api/oauth/token", code_exchange(game, code)));
  CHECK(given.body.at("token_type") == "Bearer");
  CHECK(given.body.at("expires_in") == 3600);
  CHECK(given.body.at("player_id") == ada.id);
  CHECK(given.header("Cache-Control") == "no-store");
  const Tokens tokens = tokens_of(given);
  CHECK(tokens.access_token.starts_with("at_live_"));
  CHECK(tokens.refresh_token.starts_with("rt_live_"));
  CHECK(tokens.session_token.starts_with("st_live_"));

  const json seen =
      expect(200, anybody.post("/api/oauth/token/verify", {{"token", tokens.access_token}})).body;
  CHECK(seen.at("active") == true);
  CHECK(seen.at("app_id") == game.id);
  CHECK(seen.at("user_id") == ada.id);
  CHECK(seen.at("scopes") == json({"profile:read", "deploy:manage"}));
}

TEST_CASE("self-verify-email exists in development only") {
  const Berthd berthd;
  const User ben = log_in(berthd, register_user(berthd, "ben"));
  Client session(berthd, ben.jwt);
  CHECK(expect(200, session.post("/api/auth/self-verify-email")).body.contains("message"));
  CHECK(session.get("/api/auth/me").body["user"]["email_verified"] == true);
}

TEST_CASE("from a deployment to a running container and back") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada");
  const json tiers = expect(200, ada.api.get("/api/deploy/tiers")).body.at("tiers");
  CHECK(tiers.at(0).at("slug") == "free");
  const json before = expect(200, ada.api.get("/api/deploy/sandbox-status")).body;
  CHECK(before.at("eligible") == true);
  CHECK(before.at("max_deployments") == 1);

  const json created = expect(201, ada.api.post("/api/deploy/apps", order("hello"))).body;
  const std::string id = created.at("id");
  const std::string path = "/api/deploy/apps/" + id;
  CHECK(created.at("status") == "pending");
  CHECK(created.at("deployment").at("id") == id);
  CHECK(created.at("url") == "http://hello.apps.localhost:" + std::to_string(berthd.port()));
  const json used = expect(200, ada.api.get("/api/deploy/sandbox-status")).body;
  CHECK(used.at("eligible") == false);
  CHECK(used.at("deployments_used") == 1);

  const json running = wait_until_status(ada.api, id, "running");
  CHECK(running.at("reason").is_null());
  CHECK(running.at("health_status") == "healthy");
  CHECK(running.at("container_id").is_string());
  const Answer page = page_of(berthd, "hello");
  CHECK(page.status == 200);
  CHECK(page.text.find("simulated") != std::string::npos);

  CHECK(expect(200, ada.api.post(path + "/stop")).body.at("status") == "stopped");
  CHECK(eventually([&] { return page_of(berthd, "hello").status != 200; }));
  CHECK(expect(200, ada.api.post(path + "/stop")).body.at("status") == "stopped");
  CHECK(expect(200, ada.api.post(path + "/restart")).body.at("status") == "deploying");
  wait_until_status(ada.api, id, "running");
  CHECK(eventually([&] { return page_of(berthd, "hello").status == 200; }));

  const json deleted = expect(200, ada.api.remove(path)).body;
  CHECK(deleted.at("id") == id);
  CHECK(deleted.at("message").is_string());
  CHECK(expect(200, ada.api.remove(path)).body.at("id") == id);
  CHECK(expect(200, ada.api.get(path)).body.at("status") == "destroyed");
  CHECK(expect(200, ada.api.get("/api/deploy/apps")).body.at("total") == 0);
  CHECK(ada.api.post(path + "/restart").code() == "deployment_destroyed");
  CHECK(eventually([&] { return page_of(berthd, "hello").status != 200; }));

  const json logs = expect(200, ada.api.get(path + "/logs")).body.at("logs");
  CHECK(actions_of(logs) ==
        std::vector<std::string>{"create", "deploy", "stop", "restart", "deploy", "destroy"});
  CHECK(std::is_sorted(logs.begin(), logs.end(), [](const json& a, const json& b) {
    return a.at("inserted_at") < b.at("inserted_at");
  }));
  for (const json& entry : logs)
    CHECK((entry.at("action") == "deploy" || entry.at("initiated_by") == ada.user.id));
}

TEST_CASE("a name is free as soon as its deployment is deleted") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada");
  Operator ben = operator_with_token(berthd, "ben");
  const std::string first = deploy(ada.api, order("hello"));
  wait_until_status(ada.api, first, "running");
  CHECK(ben.api.post("/api/deploy/apps", order("hello")).code() == "subdomain_taken");
  expect(200, ada.api.remove("/api/deploy/apps/" + first));
  const std::string second = deploy(ben.api, order("hello"));
  wait_until_status(ben.api, second, "running");
  CHECK(eventually([&] { return page_of(berthd, "hello").status == 200; }));
  CHECK(status_of(ada.api, first).at("status") == "destroyed");
}
