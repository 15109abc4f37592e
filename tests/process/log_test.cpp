// What berthd tells its operator: log, metrics and health.
#include <algorithm>
#include <catch2/catch.hpp>

#include "controller/base/crypto.h"
#include "tests/process/client.h"

using namespace berth::process;
using Catch::Contains;

TEST_CASE("the id of a request goes with the deployment into the reconciler's log") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada");
  const Answer created =
      expect(201, ada.api.post("/api/deploy/apps", order("hello"), {{"X-Request-Id", "create-1"}}));
  CHECK(created.header("X-Request-Id") == "create-1");
  const std::string id = created.body.at("id");
  wait_until_status(ada.api, id, "running");
  const Answer stopped = expect(200, ada.api.ask({.method = "POST",
                                                  .path = "/api/deploy/apps/" + id + "/stop",
                                                  .headers = {{"X-Request-Id", "stop-1"}}}));
  CHECK(stopped.header("X-Request-Id") == "stop-1");
  for (const char* request : {"create-1", "stop-1"}) {
    INFO(request);
    CHECK(eventually([&] {
      const auto lines = berthd.log();
      return std::any_of(lines.begin(), lines.end(), [&](const json& line) {
        return line.at("msg") == "reconciled" && line.at("deployment") == id &&
               line.value("request_id", "") == request;
      });
    }));
  }
}

TEST_CASE("an answer has a request id; the caller's own if it can be logged") {
  const Berthd berthd;
  Client anybody(berthd);
  const std::string own = anybody.get("/health").header("X-Request-Id");
  CHECK(own.size() == 36);
  CHECK(anybody.get("/health").header("X-Request-Id") != own);
  CHECK(anybody.get("/health", {{"X-Request-Id", "abc"}}).header("X-Request-Id") == "abc");
  for (const std::string& odd : {std::string("two words"), std::string(129, 'x')})
    CHECK(anybody.get("/health", {{"X-Request-Id", odd}}).header("X-Request-Id").size() == 36);
}

TEST_CASE("every log line is an object, and none contains a secret") {
  Berthd berthd({"--log-level", "debug", "--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada");
  std::vector<std::string> secrets = {ada.user.password,        ada.user.jwt,
                                      ada.app.client_secret,    ada.tokens.access_token,
                                      ada.tokens.refresh_token, ada.tokens.session_token,
                                      berthd.internal_secret()};
  const auto secret = [&](const std::string& text) {
    secrets.push_back(text);
    return text;
  };
  Client anybody(berthd);
  // Valid secrets, in every place where they can be sent.
  const Code code = authorize(berthd, ada.user, ada.app, {"deploy:manage"});
  secrets.insert(secrets.end(), {code.code, code.verifier});
  const Answer given = expect(200, anybody.post("/api/oauth/token", code_exchange(ada.app, code)));
  secrets.push_back(given.body.at("access_token"));
  const Answer outbox = expect(200, anybody.get("/api/internal/outbox", admin(berthd)));
  for (const json& mail : outbox.body.at("messages"))
    if (mail.at("token") != "") secrets.push_back(mail.at("token"));
  // A container that runs and one that doesn't, with variables and credentials.
  json wanted = order("hello", "docker.io/library/crash:1");
  wanted["env_vars"] = {{"API_KEY", secret("value-of-a-variable")}};
  wanted["registry_credentials"] = {{"username", "puller"}, {"password", secret("pull-secret-1")}};
  const std::string id = deploy(ada.api, wanted);
  wait_until_status(ada.api, id, "errored");
  const Answer got = ada.api.get("/api/deploy/apps/" + id);
  CHECK(got.body["env_keys"] == json({"API_KEY"}));
  for (const std::string& text : secrets) CHECK(got.text.find(text) == std::string::npos);
  // Requests that are refused.
  wanted["env_vars"]["BERTH_X"] = secret("value-of-a-reserved-variable");
  const Answer refused = ada.api.post("/api/deploy/apps", wanted);
  CHECK(refused.status == 422);
  for (const std::string& text : secrets) CHECK(refused.text.find(text) == std::string::npos);
  anybody.post("/api/auth/login",
               {{"email", ada.user.email}, {"password", secret("wrong-password-1")}});
  anybody.post("/api/oauth/token/verify", {{"token", secret("at_live_unknown-token-1")}});
  anybody.post("/api/auth/refresh", {{"refresh_token", secret("rt_live_unknown-token-2")}});
  Client(berthd, secret("at_live_unknown-token-3")).get("/api/deploy/apps");
  anybody.get("/api/internal/treasury", {{"x-internal-secret", secret("guessed-secret-1")}});
  anybody.ask({.method = "POST",
               .path = "/api/auth/login",
               .body = "{\"password\": \"" + secret("half-a-body-1")});
  anybody.get("/api/auth/me?token=" + secret("token-in-a-query-1"));
  CHECK(berthd.terminate() == 0);

  const std::string log = berthd.log_text();
  for (const std::string& text : secrets) {
    INFO(text);
    CHECK(log.find(text) == std::string::npos);
    CHECK(log.find(berth::base64(text)) == std::string::npos);
  }
  const auto lines = berthd.log();
  CHECK(lines.size() > 20);
  for (const json& line : lines) {
    INFO(line);
    CHECK(line.at("time").is_string());
    CHECK(line.at("msg").is_string());
    const std::string level = line.at("level");
    CHECK((level == "debug" || level == "info" || level == "warning" || level == "error"));
  }
  CHECK(lines.back().at("msg") == "stopped");
}

TEST_CASE("a flood of failures writes a few lines, without addresses or secrets") {
  Berthd berthd({"--rate-limits", "off"});
  Client anybody(berthd);
  const std::string email = "nobody-to-be-named@example.org", token = "at_live_never-to-be-logged";
  constexpr int each = 60;
  for (int i = 0; i < each; ++i) {
    anybody.post("/api/auth/login", {{"email", email}, {"password", "wrong"}});
    anybody.get("/api/deploy/apps", {{"Authorization", "Bearer " + token}});
    anybody.post("/api/deploy/apps", json::object(), {{"Authorization", "Bearer " + token}});
    anybody.get("/api/internal/treasury", {{"x-internal-secret", "guess-never-to-be-logged"}});
  }
  const Answer metrics = ask_metrics(berthd, "/metrics");
  for (const std::string& line :
       {std::string("kind=\"login_failed\",reason=\"unknown_account\"} 60"),
        std::string("kind=\"token_rejected\",reason=\"invalid_token\"} 120"),
        std::string("kind=\"internal_secret_rejected\",reason=\"wrong\"} 60")})
    CHECK_THAT(metrics.text, Contains("security_events_total{" + line));
  CHECK(berthd.terminate() == 0);
  std::map<std::string, int> lines;
  for (const json& line : berthd.log()) {
    CHECK(line.at("msg") != "request");  // none of them changed anything
    if (line.at("msg") != "security event") continue;
    ++lines[line.at("kind")];
    CHECK(line.at("address") == "127.0.0.1");
    CHECK(line.at("request_id").get<std::string>().size() == 36);
    CHECK(line.contains("reason"));
  }
  for (const char* kind : {"login_failed", "token_rejected", "internal_secret_rejected"}) {
    INFO(kind);
    // There are five lines per minute for one network; the test may take longer than a minute.
    CHECK(lines[kind] >= 5);
    CHECK(lines[kind] <= 20);
  }
  for (const char* text : {"nobody-to-be-named", "never-to-be-logged"})
    CHECK_THAT(berthd.log_text(), !Contains(text));
}

TEST_CASE("the log can be text") {
  Berthd berthd({"--log-format", "text"});
  CHECK(berthd.terminate() == 0);
  CHECK_THAT(berthd.log_text(), Contains(" info ready listen="));
}

TEST_CASE("metrics, health and readiness") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada");
  wait_until_status(ada.api, deploy(ada.api, order("hello")), "running");
  Client anybody(berthd);
  const json health = expect(200, anybody.get("/health")).body;
  CHECK(health.at("status") == "ok");
  CHECK(health.at("version").is_string());
  CHECK(health.at("kubernetes") == "simulated");
  CHECK(anybody.get("/metrics").status == 404);  // it isn't public

  const Answer metrics = ask_metrics(berthd, "/metrics");
  CHECK(metrics.status == 200);
  for (const char* line :
       {"workqueue_depth{name=\"deployment\"} 0", "workqueue_adds_total{",
        "workqueue_queue_duration_seconds_bucket{", "workqueue_work_duration_seconds_bucket{",
        "workqueue_retries_total{", "workqueue_unfinished_work_seconds{",
        "controller_runtime_reconcile_total{controller=\"deployment\"",
        "controller_runtime_reconcile_time_seconds_bucket{",
        "controller_runtime_max_concurrent_reconciles{", "rest_client_requests_total{",
        "http_requests_total{", "http_request_duration_seconds_bucket{",
        "berth_deployments{status=\"running\"} 1", "berth_database_commits_total",
        "berth_database_writes_total"})
    CHECK_THAT(metrics.text, Contains(line));
  // Metrics are labelled by operation, never by path, because each name or id in a path would make
  // a series.
  CHECK_THAT(metrics.text, Contains("route=\"createDeployment\""));
  CHECK_THAT(metrics.text, !Contains("/api/"));
  CHECK(ask_metrics(berthd, "/livez").status == 200);
  const Answer ready = ask_metrics(berthd, "/readyz");
  CHECK(ready.status == 200);
  CHECK_THAT(ready.text, Contains("[+]database ok") && Contains("[+]kubernetes ok"));
}
