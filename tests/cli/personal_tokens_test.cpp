// The client with a personal access token in BERTH_TOKEN.
#include <catch2/catch.hpp>

#include "cli/failure.h"
#include "tests/cli/person.h"

namespace {

using namespace berth::cli;
using berth::process::Berthd;
using berth::process::Client;
using berth::process::expect;

bool says(const Ran& ran, const std::string& words) {
  return ran.err.find(words) != std::string::npos;
}

TEST_CASE("BERTH_TOKEN takes a personal access token, and refusals say what to do") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "create", "hello", "--image", berth::process::well_image});
  Client account(berthd, ada.must({"token", "--session", "-o", "json"}).body().at("token"));
  const auto make = [&](const json& scopes) {
    return expect(201, account.post("/api/auth/tokens", {{"name", "CI"}, {"scopes", scopes}})).body;
  };
  const json made = make({"deploy:read"});
  const std::string token = made.at("token");
  const Person job(berthd);
  const auto run = [&](const Words& words, const std::string& shown, const std::string& app = "") {
    berth::process::Variables variables = {{"BERTH_TOKEN", shown}};
    if (!app.empty()) variables.emplace_back("BERTH_APP", app);
    return job.berth(words, "", variables);
  };
  CHECK(run({"deploy", "list"}, token).out.find("hello") != std::string::npos);
  CHECK(run({"deploy", "get", "hello"}, token).code == 0);
  CHECK(run({"whoami"}, token).code == 0);  // although it may not see its owner
  CHECK(run({"whoami", "-o", "json"}, make({"profile:read"}).at("token"))
            .body()
            .at("user")
            .at("username") == "ada");

  const Ran lacks = run({"deploy", "stop", "hello"}, token);
  CHECK(lacks.code == int(Exit::forbidden));
  CHECK(says(lacks, "deploy:write"));
  CHECK(says(lacks, "BERTH_TOKEN is a personal access token"));

  const Ran account_only = run({"apps", "list"}, token);
  CHECK(account_only.code == int(Exit::not_logged_in));
  CHECK(says(account_only, "which doesn't do this"));

  std::string mistyped = token;
  mistyped.back() = mistyped.back() == 'x' ? 'y' : 'x';
  const Ran wrong = run({"deploy", "list"}, mistyped);
  CHECK(wrong.code == int(Exit::not_logged_in));
  CHECK(says(wrong, "mistyped"));
  CHECK(says(wrong, "berth tokens create"));

  // With several apps, one is named by its id or client_id.
  ada.must({"apps", "create", "Another", "--scopes", "deploy:manage"});
  const json mine = expect(200, account.get("/api/oauth/my-apps")).body;
  const Ran several = run({"deploy", "get", "hello"}, token);
  CHECK(several.code != 0);
  for (const json& app : mine.at("apps"))
    if (app.at("app_name") == "Game of ada")
      for (const char* key : {"id", "client_id"})
        CHECK(run({"deploy", "get", "hello"}, token, app.at(key)).code == 0);
  const Ran unknown = run({"deploy", "get", "hello"}, token, "Game of ada");
  CHECK(unknown.code == int(Exit::not_found));
  CHECK(says(unknown, "id or client_id"));

  const std::string id = made.at("personal_token").at("id");
  expect(200, account.remove("/api/auth/tokens/" + id));
  const Ran revoked = run({"deploy", "list"}, token);
  CHECK(revoked.code == int(Exit::not_logged_in));
  CHECK(says(revoked, "revoked"));
  CHECK(job.berth({"login", "--token"}, token).code == int(Exit::usage));
}

}  // namespace
