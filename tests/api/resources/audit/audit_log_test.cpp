// The audit log as it is read: by a person, for an app, by admins, as lines, and its chain.
#include <catch2/catch.hpp>
#include <sstream>

#include "controller/domain/kernel/audit_chain.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

struct Log : Operator {
  const std::string of_app = "/api/oauth/my-apps/" + app.id + "/audit";

  // Changes the app's name in the name of somebody.
  void rename(const Header& by, const std::string& name) {
    REQUIRE(g.ask("PUT", "/api/operator/apps/" + app.id, {by}, json{{"app_name", name}}.dump())
                .status == 200);
  }
  void suspend_app() {
    auto headers = g.admin;
    headers.push_back({"X-Admin-Actor", "grace"});
    REQUIRE(g.ask("POST", "/api/internal/apps/" + app.id + "/suspend", headers).status == 200);
  }
  json list(const std::string& path, const std::vector<Header>& headers) {
    const Answered answer = g.ask("GET", path, headers);
    INFO(answer.text);
    REQUIRE(answer.status == 200);
    return answer.body["entries"];
  }
  json own(const std::string& query = "") { return list("/api/auth/audit" + query, {bearer(jwt)}); }
  // All that is sent, and its content type.
  std::string sent(const std::string& path, const std::vector<Header>& headers,
                   const std::string& type) {
    const Response response = g.respond("GET", path, headers);
    REQUIRE(response.status == 200);
    CHECK(response.content_type == type);
    std::string text;
    Next next = Next::more;
    while (next == Next::more) next = response.stream([&](std::string_view part) { text += part; });
    CHECK(next == Next::end);
    return text;
  }
  void chain() {
    while (g.world.write(audit::chain_some) > 0) {
    }
  }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("a person sees what they did, and nothing of others") {
  Log log;
  log.rename(bearer(log.jwt), "one");
  const auto eve = log.g.world.verified_user("eve");
  CHECK(log.list("/api/auth/audit", {bearer(log.g.world.jwt(eve))}).empty());
  const json found = log.own();
  REQUIRE(found.size() == 1);
  CHECK(found[0]["action"] == "updateOperatorApp");
  CHECK(found[0]["actor_name"] == "ada");
  CHECK(found[0]["user_id"] == log.user.id);
  CHECK(found[0]["network"] == "192.0.2.1");
  CHECK(found[0]["number"].is_null());
  log.chain();
  CHECK(log.own()[0]["number"].is_number());
  for (const std::string& query : std::vector<std::string>{
           "?action=updateOperatorApp", "?network=192.0.2.1", "?from=2026-01-31", "?to=2026-01-31",
           "?target=" + log.app.id, "?app_id=" + log.app.id,
           "?token_id=" + found[0]["token_id"].get<std::string>()})
    CHECK(log.own(query).size() == 1);
  for (const char* query : {"?action=login", "?network=192.0.2.2", "?from=2026-02-01",
                            "?to=2026-01-30", "?target=x", "?token_id=x"})
    CHECK(log.own(query).empty());
  // The filter doesn't lead to another person.
  CHECK(log.own("?user_id=" + eve.id).size() == 1);
  CHECK(log.g.ask("GET", "/api/auth/audit").error() == "401 invalid_token");
}

TEST_CASE("an app's admins see who changed it, but not which of the platform's admins did") {
  Log log;
  log.rename(bearer(log.jwt), "one");
  log.suspend_app();
  const json found = log.list(log.of_app, {bearer(log.jwt)});
  REQUIRE(found.size() >= 2);
  CHECK(found[0]["actor"] == "platform");
  CHECK(found[0]["user_id"].is_null());
  CHECK(found[0]["network"].is_null());
  CHECK(found[0]["details"].empty());
  CHECK(found[1]["actor"] == "user:" + log.user.id);
  CHECK(found[1]["network"] == "192.0.2.1");
  // Nor does a filter tell, because there is none for it.
  CHECK(log.list(log.of_app + "?actor=grace", {bearer(log.jwt)}).size() == found.size());
  const auto eve = log.g.world.verified_user("eve");
  const Answered refused = log.g.ask("GET", log.of_app, {bearer(log.g.world.jwt(eve))});
  CHECK(refused.status >= 403);
  const json all = log.list("/api/internal/audit?app_id=" + log.app.id, log.g.admin);
  CHECK(all[0]["actor"] == "grace");
}

TEST_CASE("an app's log has what was decided about its requests and who accepted its invitations") {
  Log log;
  const std::string request = log.g.world.write(
      [&](db::Tx& tx) { return apps::request_scopes(tx, log.app, {Scope::campaigns_manage}).id; });
  REQUIRE(log.g.ask("POST", "/api/internal/scope-requests/" + request + "/approve", log.g.admin)
              .status == 200);
  const json approvals = log.list(log.of_app + "?action=scope_request.approve", {bearer(log.jwt)});
  REQUIRE_FALSE(approvals.empty());
  CHECK(approvals[0]["target"] == request);
  CHECK(approvals[0]["actor"] == "platform");
  const auto eve = log.g.world.verified_user("eve");
  const Header by_eve = bearer(log.g.world.jwt(eve));
  const Answered invited =
      log.g.ask("POST", "/api/oauth/my-apps/" + log.app.id + "/members", {bearer(log.jwt)},
                json{{"username", "eve"}, {"role", "viewer"}}.dump());
  REQUIRE(invited.status == 201);
  const std::string id = invited.body["invitation"]["id"];
  REQUIRE(log.g.ask("POST", "/api/auth/invitations/" + id + "/accept", {by_eve}).status == 200);
  const json found = log.list(log.of_app, {bearer(log.jwt)});
  CHECK(found[0]["operation"] == "acceptInvitation");
  CHECK(found[0]["user_id"] == eve.id);
}

TEST_CASE("an app's admins don't see from where its users' browsers used its client") {
  Log log;
  const json client = {{"client_id", log.app.client_id},
                       {"client_secret", log.registered.client_secret},
                       {"token", log.tokens.access_token}};
  REQUIRE(log.g.ask("POST", "/api/oauth/revoke", {}, client.dump()).status == 200);
  const json revocations = log.list(log.of_app + "?action=revoke", {bearer(log.jwt)});
  REQUIRE(revocations.size() == 1);
  CHECK(revocations[0]["actor"] == "app:" + log.app.id);
  CHECK(revocations[0]["network"].is_null());
  const json all = log.list("/api/internal/audit?action=revoke", log.g.admin);
  CHECK(all.at(0)["network"] == "192.0.2.1");
}

TEST_CASE("admins filter by person, app, network and token") {
  Log log;
  log.rename(bearer(log.jwt), "one");
  const auto count = [&](const std::string& query) {
    return log.list("/api/internal/audit" + query, log.g.admin).size();
  };
  CHECK(count("?user_id=" + log.user.id) == 1);
  CHECK(count("?network=192.0.2.1") == 1);
  CHECK(count("?network=192.0.2.7") == 0);
  CHECK(count("?target=&actor=&token_id=") == count(""));
  const std::string token = log.own()[0]["token_id"];
  CHECK(count("?user_id=" + log.user.id + "&token_id=" + token) == 1);
  CHECK(log.g.ask("GET", "/api/internal/audit?token_id=" + token, log.g.admin).error() ==
        "422 validation_failed");
  CHECK(log.g.ask("GET", "/api/internal/audit?format=xml", log.g.admin).error() ==
        "422 validation_failed");
}

TEST_CASE("the list is the same as JSON lines and as CSV, in parts") {
  Log log;
  constexpr int entries = 1'203;
  log.g.world.write([&](db::Tx& tx) {
    for (int i = 0; i < entries; ++i)
      audit::record(tx, "=grace", "user.suspend", std::to_string(i), R"({"reason":"a \"b\""})");
  });
  const std::string path = "/api/internal/audit?action=user.suspend&format=";
  const auto lines = lines_of(log.sent(path + "jsonl", log.g.admin, "application/x-ndjson"));
  REQUIRE(lines.size() == entries);
  const json page = log.list("/api/internal/audit?action=user.suspend", log.g.admin);
  CHECK(json::parse(lines[0]) == page[0]);
  CHECK(json::parse(lines.back())["target"] == "0");
  const auto records = lines_of(log.sent(path + "csv", log.g.admin, "text/csv; charset=utf-8"));
  REQUIRE(records.size() == entries + 1);
  CHECK_THAT(records[0], Catch::StartsWith("id,number,inserted_at,actor,"));
  CHECK_THAT(records[1],
             Catch::Contains("\"'=grace\"") && Catch::Contains(R"("{""reason"":""a \""b\""""}")"));
}

TEST_CASE("lines are found among many entries that don't match") {
  Log log;
  const auto record = [&](int entries, const std::string& action) {
    log.g.world.write([&](db::Tx& tx) {
      for (int i = 0; i < entries; ++i) audit::record(tx, "grace", action, "somebody");
    });
  };
  record(2, "user.suspend");
  record(1'200, "user.promote");
  record(1, "user.suspend");
  for (const char* by : {"actor=grace", "target=somebody"}) {
    const std::string path = std::string("/api/internal/audit?format=jsonl&") + by + "&action=";
    const auto count = [&](const std::string& action) {
      return lines_of(log.sent(path + action, log.g.admin, "application/x-ndjson")).size();
    };
    CHECK(count("user.suspend") == 3);
    CHECK(count("user.promote") == 1'200);
    CHECK(count("user.reactivate") == 0);
  }
}

TEST_CASE("one admin has few exports at once, and each gives its place back") {
  Log log;
  for (const char* path : {"/api/internal/audit?format=csv", "/api/internal/audit/stream"}) {
    INFO(path);
    std::vector<Response> open;
    for (size_t i = 0; i < EventHub::Limits().exports_of_one; ++i) {
      open.push_back(log.g.respond("GET", path, log.g.admin));
      CHECK(open.back().status == 200);
    }
    CHECK(log.g.ask("GET", path, log.g.admin).error() == "429 rate_limited");
    open.clear();  // as if all clients were gone
    CHECK(log.g.respond("GET", path, log.g.admin).status == 200);
  }
}

TEST_CASE("a collector gets each entry once, in the order of numbers, with its hash") {
  Log log;
  log.rename(bearer(log.jwt), "one");
  CHECK(log.sent("/api/internal/audit/stream", log.g.admin, "application/x-ndjson").empty());
  log.chain();
  const auto first =
      lines_of(log.sent("/api/internal/audit/stream?after=0", log.g.admin, "application/x-ndjson"));
  REQUIRE_FALSE(first.empty());
  const std::int64_t last = json::parse(first.back())["number"];
  CHECK(last == std::int64_t(first.size()));
  log.rename(bearer(log.jwt), "two");
  log.chain();
  const auto more = lines_of(log.sent("/api/internal/audit/stream?after=" + std::to_string(last),
                                      log.g.admin, "application/x-ndjson"));
  REQUIRE(more.size() == 1);
  const json entry = json::parse(more[0]);
  CHECK(entry["number"] == last + 1);
  const json check = log.g.ask("GET", "/api/internal/audit/check", log.g.admin).body;
  CHECK(check["violations"].empty());
  CHECK(check["is_end"] == true);
  CHECK(check["head"]["number"] == last + 1);
  CHECK(check["head"]["chain"] == entry["chain"]);
  log.g.world.write([](db::Tx& tx) { tx.execute("DELETE FROM audit_log WHERE number = 1"); });
  const json found = log.g.ask("GET", "/api/internal/audit/check", log.g.admin).body;
  CHECK(found["violations"] == json::array({"entry 1 was removed"}));
}

}  // namespace
