// Avatars, cosmetics and learning over HTTP: what is possible and what isn't.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/process/client.h"

using namespace berth::process;

namespace {

const Flags unlimited = {"--rate-limits", "off"};

struct Platform {
  explicit Platform(const Berthd& on = shared_berthd(unlimited)) : berthd(on) {}
  const Berthd& berthd;
  User ada = register_verified_user(berthd, fresh_name("ada"));
  User bob = register_verified_user(berthd, fresh_name("bob"));
  Client admins{berthd};
  Client ada_api{berthd, ada.jwt};
  Client bob_api{berthd, bob.jwt};

  Answer admin_post(const std::string& path, const json& body) {
    return admins.post(path, body, admin(berthd));
  }
  Answer admin_patch(const std::string& path, const json& body) {
    return admins.ask(
        {.method = "PATCH", .path = path, .body = body.dump(), .headers = admin(berthd)});
  }
  void mint(const std::string& kind, const std::string& id, std::int64_t amount) {
    json account = {{"kind", kind}};
    if (!id.empty()) account["id"] = id;
    expect(201, admin_post("/api/internal/points/mint",
                           {{"account", account}, {"amount", amount}, {"reason", "a test"}}));
  }
  void advance(int seconds) {
    expect(200, admin_post("/api/internal/clock", {{"advance_seconds", seconds}}));
  }
  std::string new_item(int price = 30, const json& more = json::object()) {
    json body = {
        {"name", "Hat"}, {"category", "hat"}, {"rarity", "common"}, {"price_points", price}};
    body.update(more);
    return expect(201, admin_post("/api/internal/cosmetics", body)).body["cosmetic"]["id"];
  }
  json new_module(const json& more = json::object()) {
    json body = {{"title", "A module"}, {"total", 3}, {"points", 10}};
    body.update(more);
    return expect(201, admin_post("/api/internal/learning/modules", body)).body["module"];
  }
  std::int64_t points(const User& user) {
    return expect(200, Client(berthd, user.jwt).get("/api/auth/me")).body["user"]["points"];
  }
  Answer buy(Client& client, const std::string& item) {
    return client.post("/api/cosmetics/" + item + "/purchase");
  }
  Answer give(Client& client, const std::string& item, const std::string& to) {
    return client.post("/api/cosmetics/" + item + "/gift", {{"to_user_id", to}});
  }
  // Returns the session and access tokens that ada gives to bob's app.
  Tokens player() {
    const App app = create_app(berthd, bob, {"profile:read", "points:spend"});
    approve(berthd, bob, app, {"points:spend"});
    const Code code = authorize(berthd, ada, app, {"profile:read", "points:spend"});
    return tokens_of(expect(200, admins.post("/api/oauth/token", code_exchange(app, code))));
  }
};

Answer put(Client& client, const std::string& path, const json& body) {
  return client.ask({.method = "PUT", .path = path, .body = body.dump()});
}

std::string refusal(const Answer& answer) {
  return std::to_string(answer.status) + " " + answer.code();
}

std::string nested(int depth) {
  return R"({"appearance":)" + std::string(size_t(depth), '[').replace(0, 1, "{\"a\":") +
         std::string(size_t(depth - 1), ']') + "}}";
}

}  // namespace

TEST_CASE("an avatar is created at the first look, and its user can change it") {
  Platform p;
  const json first = expect(200, p.ada_api.get("/api/avatars/me")).body;
  CHECK(first["user_id"] == p.ada.id);
  CHECK(first["display_name"].is_null());
  CHECK(first["appearance"] == json::object());
  CHECK(first["equipped_cosmetics"] == json::array());
  CHECK(first["avatar"]["id"] == first["id"]);
  CHECK(p.bob_api.get("/api/avatars/" + p.ada.id).body == first);
  Client in_game(p.berthd, p.player().session_token);
  CHECK(in_game.get("/api/avatars/me").body == first);

  const json look = {{"skin", "green"}, {"parts", {1, 2.5, nullptr}}};
  const Answer changed =
      put(in_game, "/api/avatars/me", {{"display_name", "Ada L."}, {"appearance", look}});
  CHECK(changed.status == 200);
  CHECK(changed.body["appearance"] == look);
  CHECK(put(p.ada_api, "/api/avatars/me", {{"display_name", nullptr}}).body["appearance"] == look);
  CHECK(p.ada_api.get("/api/avatars/me").body["display_name"].is_null());

  CHECK(refusal(put(p.ada_api, "/api/avatars/me", {{"display_name", std::string(21, 'x')}})) ==
        "422 validation_failed");
  CHECK(refusal(put(p.ada_api, "/api/avatars/me", {{"appearance", "green"}})) ==
        "422 validation_failed");
  CHECK(refusal(put(p.ada_api, "/api/avatars/me",
                    {{"appearance", {{"a", std::string(9'000, 'x')}}}})) ==
        "422 validation_failed");
  const auto nest = [&](int depth) {
    return p.ada_api.ask({.method = "PUT", .path = "/api/avatars/me", .body = nested(depth)})
        .status;
  };
  CHECK(nest(8) == 200);
  CHECK(nest(9) == 422);
  for (const std::string& id : {nobody, std::string("x"), std::string("%00")})
    CHECK(refusal(p.ada_api.get("/api/avatars/" + id)) == "404 user_not_found");
  CHECK(refusal(Client(p.berthd).get("/api/avatars/me")) == "401 invalid_token");
}

TEST_CASE("many simultaneous first looks create one avatar") {
  Platform p;
  std::vector<std::string> ids(12);
  std::vector<std::thread> lookers;
  for (size_t i = 0; i < ids.size(); ++i)
    lookers.emplace_back([&, i] {
      Client client(p.berthd, i % 2 == 0 ? p.ada.jwt : p.bob.jwt);
      ids[i] = client.get(i % 2 == 0 ? "/api/avatars/me" : "/api/avatars/" + p.ada.id).body["id"];
    });
  for (auto& looker : lookers) looker.join();
  for (const std::string& id : ids) CHECK(id == ids.front());
}

TEST_CASE("cosmetics are listed, filtered and paged, and admins manage them") {
  const Berthd own(unlimited);
  Platform p(own);
  const std::string hat = p.new_item(30, {{"description", "Of straw"}});
  p.new_item(5, {{"category", "shoes"}, {"rarity", "rare"}, {"available", false}});
  const json listed = expect(200, p.ada_api.get("/api/cosmetics")).body;
  CHECK(listed["total"] == 2);
  CHECK(listed["cosmetics"][0] == json{{"id", hat},
                                       {"name", "Hat"},
                                       {"description", "Of straw"},
                                       {"category", "hat"},
                                       {"rarity", "common"},
                                       {"price_points", 30},
                                       {"available", true},
                                       {"asset_url", nullptr}});
  const auto total = [&](const std::string& query) {
    return p.ada_api.get("/api/cosmetics?" + query).body["total"];
  };
  CHECK(total("category=shoes") == 1);
  CHECK(total("rarity=rare&available=true") == 0);
  CHECK(total("available=false") == 1);
  CHECK(p.ada_api.get("/api/cosmetics?page=2&page_size=1").body["cosmetics"].size() == 1);
  for (const char* query : {"category=boat", "rarity=x", "available=1", "page=0"})
    CHECK(refusal(p.ada_api.get(std::string("/api/cosmetics?") + query)) ==
          "422 validation_failed");

  const std::string path = "/api/internal/cosmetics/";
  const Answer changed = p.admin_patch(path + hat, {{"price_points", 7}, {"description", nullptr}});
  CHECK(changed.status == 200);
  CHECK(changed.body["cosmetic"]["price_points"] == 7);
  CHECK(changed.body["cosmetic"]["name"] == "Hat");
  CHECK(refusal(p.admin_patch(path + nobody, {{"name", "x"}})) == "404 cosmetic_not_found");
  CHECK(refusal(p.admin_patch(path + hat, {{"price_points", -1}})) == "422 validation_failed");
  CHECK(refusal(p.admin_post("/api/internal/cosmetics", {{"name", "x"}})) ==
        "422 validation_failed");
  CHECK(refusal(p.ada_api.get("/api/internal/cosmetics")) == "403 forbidden");
  CHECK(p.admins.get("/api/internal/cosmetics", admin(p.berthd)).body["total"] == 2);
}

TEST_CASE("a purchase is charged once, and each of its refusals") {
  Platform p;
  const std::string hat = p.new_item(30), gone = p.new_item(1, {{"available", false}});
  CHECK(refusal(p.buy(p.ada_api, p.new_item(1'000'000))) == "422 insufficient_balance");
  p.mint("user", p.ada.id, 100);
  const std::int64_t before = p.points(p.ada);
  const Headers once = {{"Idempotency-Key", "one"}};
  const std::string path = "/api/cosmetics/" + hat + "/purchase";
  const Answer bought = p.ada_api.ask({.method = "POST", .path = path, .headers = once});
  CHECK(bought.status == 201);
  CHECK(bought.body["cosmetic_item_id"] == hat);
  CHECK(bought.body["acquired_via"] == "purchase");
  CHECK(bought.body["points_spent"] == 30);
  CHECK(bought.body["points"] == before - 30);
  CHECK(bought.body["user_cosmetic"]["item"]["name"] == "Hat");
  CHECK(p.ada_api.ask({.method = "POST", .path = path, .headers = once}).text == bought.text);
  CHECK(p.points(p.ada) == before - 30);
  CHECK(refusal(p.buy(p.ada_api, hat)) == "409 already_owned");
  CHECK(refusal(p.buy(p.ada_api, gone)) == "422 cosmetic_unavailable");
  for (const std::string& id : {nobody, std::string("x")})
    CHECK(refusal(p.buy(p.ada_api, id)) == "404 cosmetic_not_found");
  const json mine = expect(200, p.ada_api.get("/api/cosmetics/mine")).body;
  CHECK(mine["total"] == 1);
  CHECK(mine["cosmetics"][0]["id"] == bought.body["id"]);
  CHECK(p.bob_api.get("/api/cosmetics/mine").body["total"] == 0);
}

TEST_CASE("a gift is paid by one and owned by the other") {
  Platform p;
  const std::string hat = p.new_item(30);
  p.mint("user", p.ada.id, 100);
  const std::int64_t before = p.points(p.ada);
  CHECK(refusal(p.give(p.ada_api, hat, p.ada.id)) == "422 validation_failed");
  CHECK(refusal(p.give(p.ada_api, hat, nobody)) == "404 user_not_found");
  CHECK(refusal(p.give(p.ada_api, hat, "bob")) == "422 validation_failed");
  CHECK(refusal(p.give(p.ada_api, nobody, p.bob.id)) == "404 cosmetic_not_found");
  const Answer given = p.give(p.ada_api, hat, p.bob.id);
  CHECK(given.status == 201);
  CHECK(given.body["acquired_via"] == "gift");
  CHECK(given.body["points"] == before - 30);
  CHECK(p.bob_api.get("/api/cosmetics/mine").body["total"] == 1);
  CHECK(p.ada_api.get("/api/cosmetics/mine").body["total"] == 0);
  CHECK(refusal(p.give(p.ada_api, hat, p.bob.id)) == "409 already_owned");
  CHECK(p.points(p.ada) == before - 30);
}

TEST_CASE("an app with points:spend buys for its user, within their limit") {
  Platform p;
  p.mint("user", p.ada.id, 100);
  const Tokens tokens = p.player();
  Client app(p.berthd, tokens.access_token);
  CHECK(p.buy(app, p.new_item(30)).status == 201);
  const json connected = p.ada_api.get("/api/oauth/connected-apps").body["connected_apps"][0];
  expect(200, p.ada_api.ask(
                  {.method = "PATCH",
                   .path = "/api/oauth/connected-apps/" + connected["app_id"].get<std::string>(),
                   .body = R"({"daily_spend_limit": 40})"}));
  CHECK(refusal(p.buy(app, p.new_item(11))) == "422 spend_limit_reached");
  CHECK(p.buy(app, p.new_item(10)).status == 201);
  Client session(p.berthd, tokens.session_token);
  CHECK(refusal(p.buy(session, p.new_item(1))) == "401 wrong_token_type");
  CHECK(refusal(app.get("/api/cosmetics")) == "401 wrong_token_type");
  const Operator other = operator_with_token(p.berthd, "carl", {"profile:read"});
  Client without(p.berthd, other.tokens.access_token);
  CHECK(refusal(p.buy(without, p.new_item(1))) == "403 insufficient_scope");
}

TEST_CASE("simultaneous requests buy an item once") {
  Platform p;
  p.mint("user", p.ada.id, 1'000);
  const std::int64_t before = p.points(p.ada);
  const std::string hat = p.new_item(30);
  std::atomic<int> bought = 0, owned = 0;
  std::vector<std::thread> buyers;
  for (int i = 0; i < 12; ++i)
    buyers.emplace_back([&] {
      Client client(p.berthd, p.ada.jwt);
      const Answer answer = p.buy(client, hat);
      if (answer.status == 201) ++bought;
      if (answer.code() == "already_owned") ++owned;
    });
  for (auto& buyer : buyers) buyer.join();
  CHECK(bought == 1);
  CHECK(owned == 11);
  CHECK(p.points(p.ada) == before - 30);
}

TEST_CASE("an avatar wears what its user owns, one of each category") {
  Platform p;
  const std::string hat = p.new_item(0), other_hat = p.new_item(0);
  const std::string shoes = p.new_item(0, {{"category", "shoes"}});
  for (const std::string& item : {hat, other_hat, shoes}) expect(201, p.buy(p.ada_api, item));
  const auto equip = [&](const json& ids) {
    return p.ada_api.post("/api/avatars/me/equip", {{"item_ids", ids}});
  };
  CHECK(equip({shoes, hat}).body["equipped_cosmetics"] == json({hat, shoes}));
  CHECK(refusal(equip({hat, other_hat})) == "422 validation_failed");
  CHECK(refusal(equip({p.new_item(0)})) == "422 validation_failed");
  CHECK(refusal(equip({"hat"})) == "422 validation_failed");
  CHECK(p.bob_api.get("/api/avatars/" + p.ada.id).body["equipped_cosmetics"] == json({hat, shoes}));
  CHECK(equip(json::array()).body["equipped_cosmetics"] == json::array());
}

TEST_CASE("modules are done in order and not too fast, and pay once until they can be repeated") {
  const Berthd own(unlimited);
  Platform p(own);
  p.mint("treasury", "", 1'000);
  p.new_module({{"min_seconds", 60}, {"repeat_after_seconds", 3600}});
  p.new_module();
  const std::int64_t before = p.points(p.ada);
  const auto report = [&](int module, int completed) {
    return p.ada_api.post("/api/learning/modules/" + std::to_string(module) + "/progress",
                          {{"completed", completed}});
  };
  const json fresh = expect(200, p.ada_api.get("/api/learning/modules/1")).body;
  CHECK(fresh["status"] == "incomplete");
  CHECK(fresh["completed"].is_null());
  CHECK(fresh["total"] == 3);
  CHECK(fresh["open"] == true);
  CHECK(p.ada_api.get("/api/learning/modules/2").body["open"] == false);
  CHECK(refusal(report(2, 1)) == "409 invalid_state");
  CHECK(report(1, 0).status == 200);
  CHECK(refusal(report(1, 3)) == "409 invalid_state");  // too early
  p.advance(60);
  CHECK(report(1, 2).body["completed"] == 2);
  CHECK(refusal(report(1, 1)) == "409 invalid_state");
  CHECK(refusal(report(1, 4)) == "422 validation_failed");
  CHECK(refusal(report(1, -1)) == "422 validation_failed");
  const Answer done = report(1, 3);
  CHECK(done.body["status"] == "completed");
  CHECK(done.body["points_awarded"] == 10);
  CHECK(done.body["unpaid_reason"].is_null());
  CHECK(done.body["repeat_eligible_at"].is_string());
  CHECK(report(1, 3).body["points_awarded"] == 0);
  CHECK(p.points(p.ada) == before + 10);
  CHECK(p.ada_api.get("/api/learning/modules/2").body["open"] == true);
  p.advance(3600);
  CHECK(refusal(report(1, 3)) == "409 invalid_state");  // another round has begun
  CHECK(p.ada_api.get("/api/learning/modules/1").body["status"] == "incomplete");
  p.advance(60);
  CHECK(report(1, 3).body["points_awarded"] == 10);
  CHECK(report(2, 3).body["repeat_eligible_at"].is_null());
  CHECK(p.points(p.ada) == before + 30);
  for (const char* number : {"3", "x", "0", "1.5", "99999999999999999999"})
    CHECK(refusal(p.ada_api.get(std::string("/api/learning/modules/") + number)) ==
          "404 module_not_found");
  CHECK(p.ada_api.get("/api/learning/modules").body["total"] == 2);
  CHECK(p.bob_api.get("/api/learning/modules").body["modules"][0]["completed"].is_null());
}

TEST_CASE("a refusal that begins a round is stored with its key") {
  const Berthd own(unlimited);
  Platform p(own);
  p.new_module({{"min_seconds", 60}});
  const Ask ask = {.method = "POST",
                   .path = "/api/learning/modules/1/progress",
                   .body = R"({"completed": 3})",
                   .headers = {{"Idempotency-Key", "one"}}};
  const Answer first = p.ada_api.ask(ask);
  CHECK(refusal(first) == "409 invalid_state");
  p.advance(60);
  const Answer again = p.ada_api.ask(ask);
  CHECK(again.status == 409);
  CHECK(again.text == first.text);
}

TEST_CASE("learning works with an empty treasury") {
  const Berthd own(unlimited);
  Platform p(own);
  const json treasury = p.admins.get("/api/internal/treasury", admin(p.berthd)).body;
  p.new_module({{"points", treasury["balance"].get<std::int64_t>() + 1}});
  const Answer done = p.ada_api.post("/api/learning/modules/1/progress", {{"completed", 3}});
  CHECK(done.body["status"] == "completed");
  CHECK(done.body["points_awarded"] == 0);
  CHECK(done.body["unpaid_reason"].is_string());
}

TEST_CASE("users choose learning paths, and admins manage the modules") {
  const Berthd own(unlimited);
  Platform p(own);
  CHECK(p.ada_api.get("/api/learning/path").body ==
        json{{"status", "not_started"}, {"learning_path", "general"}});
  const json module = p.new_module();
  CHECK(put(p.ada_api, "/api/learning/path", {{"learning_path", "builder"}}).status == 200);
  p.ada_api.post("/api/learning/modules/1/progress", {{"completed", 1}});
  CHECK(p.ada_api.get("/api/learning/path").body ==
        json{{"status", "in_progress"}, {"learning_path", "builder"}});
  CHECK(refusal(put(p.ada_api, "/api/learning/path", {{"learning_path", "No Path"}})) ==
        "422 validation_failed");
  const std::string path = "/api/internal/learning/modules/";
  CHECK(p.admin_patch(path + module["id"].get<std::string>(), {{"active", false}}).status == 200);
  CHECK(p.ada_api.get("/api/learning/modules").body["total"] == 0);
  CHECK(p.admins.get("/api/internal/learning/modules", admin(p.berthd)).body["total"] == 1);
  CHECK(refusal(p.admin_patch(path + nobody, {{"active", false}})) == "404 module_not_found");
  CHECK(refusal(p.admin_post("/api/internal/learning/modules",
                             {{"title", "x"}, {"total", 1}, {"module_number", 1}})) ==
        "422 validation_failed");
}
