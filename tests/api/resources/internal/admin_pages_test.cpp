// What admins find and open: the deployments of all apps by filters, one page each for a user, an
// app and a deployment, one search for all of them, and a refund.
#include <catch2/catch.hpp>

#include "controller/domain/deployments/tiers.h"
#include "tests/api/gate_world.h"

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

namespace {

using Texts = std::vector<std::string>;

constexpr std::int64_t price = 100;

// Ada has a free deployment, olga one on a paid tier.
struct Two : Operator {
  accounts::User olga = g.world.verified_user("olga");
  apps::App other = g.world.approved_app(olga, {Scope::deploy_manage});
  Header others = bearer(g.world.tokens(other, olga, "profile:read deploy:manage").access_token);
  std::string shop = create(token, order());
  std::string game;

  Two() {
    g.world.write([&](db::Tx& tx) {
      tiers::Tier tier;
      tier.name = "Paid";
      tier.slug = "paid";
      tier.memory_limit_mb = 512;
      tier.cpu_limit_millicores = 500;
      tier.monthly_cost_points = price;
      tier.auto_approve = true;
      tiers::create(tx, tier);
    });
    g.world.mint(ledger::app_account(other.id), 3 * price);
    game = create(others,
                  json{{"name", "game"}, {"image", "ghcr.io/acme/web:1"}, {"tier", "paid"}}.dump());
  }
  std::string create(const Header& as, const std::string& body) {
    const Answered answer = g.ask("POST", "/api/deploy/apps", {as}, body);
    REQUIRE(answer.status == 201);
    return answer.body["id"];
  }
  Answered get(const std::string& path) { return g.ask("GET", "/api/internal/" + path, g.admin); }
  Texts find(const std::string& query) {
    const Answered answer = get("deploy/apps" + query);
    REQUIRE(answer.status == 200);
    CHECK(answer.body["total"] == answer.body["deployments"].size());
    Texts names;
    for (const json& row : answer.body["deployments"]) names.push_back(row["name"]);
    return names;
  }
  Answered refund(std::int64_t amount) {
    return g.ask("POST", "/api/internal/deploy/apps/" + game + "/refund", g.admin,
                 json{{"amount", amount}, {"reason", "the node was down"}}.dump());
  }
};

}  // namespace

TEST_CASE("admins list the deployments of all apps, by each filter and by several") {
  Two two;
  CHECK(two.find("") == Texts{"game", "shop"});
  const std::vector<std::pair<std::string, Texts>> filters = {
      {"q=sh", {"shop"}},
      {"q=SHOP", {"shop"}},
      {"q=" + two.game, {"game"}},
      {"q=Olga", {"game"}},
      {"q=nothing", {}},
      {"status=pending", {"game", "shop"}},
      {"status=errored", {}},
      {"tier=paid", {"game"}},
      {"billing=current", {"game"}},
      {"billing=exempt", {"shop"}},
      {"app_id=" + two.app.id, {"shop"}},
      {"owner_id=" + two.olga.id, {"game"}},
      {"owner_id=" + two.olga.id + "&tier=wide", {}},
      {"q=sh&status=pending", {"shop"}},
      {"q=sh&status=running", {}}};
  for (const auto& [query, names] : filters) {
    INFO(query);
    CHECK(two.find("?" + query) == names);
  }
  CHECK(two.get("deploy/apps?status=fine").error() == "422 validation_failed");
  const json row = two.get("deploy/apps?q=game").body["deployments"][0];
  CHECK(row["owner"] == "olga");
  CHECK(row["owner_id"] == two.olga.id);
  CHECK(row["app_name"] == two.other.app_name);
  CHECK(row["suspended"] == false);
  // The list goes on behind its pages, and has nothing of what was deleted.
  const json first = two.get("deploy/apps?page_size=1").body;
  CHECK(first["deployments"][0]["name"] == "game");
  const json second =
      two.get("deploy/apps?page_size=1&cursor=" + first["next_cursor"].get<std::string>()).body;
  CHECK(second["deployments"][0]["name"] == "shop");
  two.g.ask("DELETE", "/api/deploy/apps/" + two.shop, {two.token});
  CHECK(two.find("") == Texts{"game"});
  CHECK(two.get("deploy/apps/" + two.shop).body["deployment"]["status"] == "destroyed");
  CHECK(two.g.ask("GET", "/api/internal/deploy/apps", {two.token}).status == 403);
}

TEST_CASE("a user, an app and a deployment have a page each, with what they have, did and owe") {
  Two two;
  const Answered user = two.get("users/" + two.olga.id);
  REQUIRE(user.status == 200);
  CHECK(user.body["user"]["username"] == "olga");
  REQUIRE(user.body["apps"].size() == 1);
  CHECK(user.body["apps"][0]["balance"] == 2 * price);
  CHECK(user.body["stats"]["total_earned"] == user.body["user"]["points"]);
  CHECK(user.body["sessions"].is_number());
  const Answered app = two.get("apps/" + two.other.id);
  REQUIRE(app.status == 200);
  CHECK(app.body["app"]["owner"] == "olga");
  CHECK(app.body["balance"] == 2 * price);
  CHECK(app.body["deployments"] == 1);
  CHECK(app.body["scope_requests"][0]["status"] == "approved");
  CHECK(app.body["movements"][0]["kind"] == "deployment");
  CHECK(app.body["movements"][0]["amount"] == -price);
  CHECK_FALSE(app.body["movements"][0].contains("description"));
  const Answered deployment = two.get("deploy/apps/" + two.game);
  REQUIRE(deployment.status == 200);
  CHECK(deployment.body["billing"]["amount"] == price);
  CHECK(deployment.body["refundable"] == price);
  CHECK(deployment.body["logs"][0]["action"] == "create");
  const std::string nobody = "01936f5e-7c1a-7000-8000-000000000001";
  CHECK(two.get("users/" + nobody).error() == "404 user_not_found");
  CHECK(two.get("apps/" + nobody).error() == "404 app_not_found");
  CHECK(two.get("deploy/apps/" + nobody).error() == "404 deployment_not_found");
}

TEST_CASE("one search finds users, apps and deployments") {
  Two two;
  const json found = two.get("search?q=olga").body;
  REQUIRE(found["users"].size() == 1);
  CHECK(found["users"][0]["id"] == two.olga.id);
  CHECK(found["apps"][0]["id"] == two.other.id);
  CHECK(found["deployments"][0]["id"] == two.game);
  CHECK(two.get("search?q=" + two.shop).body["deployments"][0]["name"] == "shop");
  CHECK(two.get("search?q=zzz").body["users"].empty());
  CHECK(two.get("search").error() == "422 validation_failed");
}

TEST_CASE("a refund gives back at most what was charged, and the ledger's audit agrees with it") {
  Two two;
  CHECK(two.refund(0).error() == "422 validation_failed");
  CHECK(two.refund(price + 1).error() == "422 validation_failed");
  const Answered some = two.refund(30);
  REQUIRE(some.status == 201);
  CHECK(some.body["refundable"] == price - 30);
  CHECK(some.body["balance"] == 2 * price + 30);
  CHECK(two.refund(price - 29).error() == "422 validation_failed");
  CHECK(two.refund(price - 30).status == 201);
  const json page = two.get("deploy/apps/" + two.game).body;
  CHECK(page["refundable"] == 0);
  CHECK(page["billing"]["history"][0]["kind"] == "refund");
  CHECK(page["billing"]["history"][0]["amount"] == 30 - price);
  const json entry = two.get("audit?target=" + two.game).body["entries"][0];
  CHECK(entry["action"] == "deployment.refund");
  CHECK(entry["details"]["reason"] == "the node was down");
  CHECK(two.get("ledger/audit").body["ok"] == true);
  // The app's free deployment was charged nothing.
  CHECK(two.g
            .ask("POST", "/api/internal/deploy/apps/" + two.shop + "/refund", two.g.admin,
                 R"({"amount": 1, "reason": "x"})")
            .error() == "422 validation_failed");
}

TEST_CASE("a change and a rollback say in the log what they change, without values of variables") {
  Two two;
  const std::string at = "/api/deploy/apps/" + two.shop;
  const auto patch = [&](const json& body) {
    return two.g.ask("PATCH", at, {two.token}, body.dump()).status;
  };
  const auto newest = [&] {
    return json(
        two.g.ask("GET", at + "/logs", {two.token}).body["logs"].back()["details"]["changes"]);
  };
  REQUIRE(patch({{"image", "ghcr.io/acme/web:2"},
                 {"env_vars", {{"ONE", "secret"}, {"TWO", "b"}}}}) == 200);
  CHECK(newest() == json::parse(R"([
      {"field": "image", "from": "ghcr.io/acme/web:1", "to": "ghcr.io/acme/web:2"},
      {"field": "env_vars", "added": ["ONE", "TWO"], "changed": [], "removed": []}])"));
  REQUIRE(patch({{"port", 4000}, {"env_vars", {{"ONE", "other"}, {"TWO", nullptr}}}}) == 200);
  CHECK(newest() == json::parse(R"([
      {"field": "port", "from": 3000, "to": 4000},
      {"field": "env_vars", "added": [], "changed": ["ONE"], "removed": ["TWO"]}])"));
  REQUIRE(patch({{"args", {std::string(4000, 'x')}}}) == 200);
  CHECK(newest()[0]["to"].get<std::string>().size() <= 512);
  CHECK(two.g.ask("GET", at + "/logs", {two.token}).text.find("secret") == std::string::npos);
}

TEST_CASE("a deployment's containers are listed, each with its image") {
  Two two;
  const std::string at = "/api/deploy/apps/" + two.shop + "/instances";
  CHECK(two.g.ask("GET", at, {two.token}).body["instances"].empty());
  two.g.services.cluster.instances_of = [](const std::string&) {
    instances::Instance failing, serving;
    failing.name = "new";
    failing.image = "web:2";
    failing.reason = "CrashLoopBackOff";
    failing.is_newest = failing.has_log = true;
    serving.name = "old";
    serving.state = instances::State::running;
    serving.is_ready = true;
    return std::vector<instances::Instance>{failing, serving};
  };
  const Answered answer = two.g.ask("GET", at, {two.token});
  REQUIRE(answer.body["instances"].size() == 2);
  CHECK(answer.body["instances"][0]["reason"] == "CrashLoopBackOff");
  CHECK(answer.body["instances"][0]["newest"] == true);
  CHECK(answer.body["instances"][1]["ready"] == true);
  CHECK(two.g.ask("GET", at, {two.others}).error() == "403 forbidden");
}
