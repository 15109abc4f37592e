// Friends, blocks, presence and search over HTTP.
#include <catch2/catch.hpp>

#include "tests/process/client.h"
#include "tests/process/operations.h"

using namespace berth::process;

namespace {

constexpr const char* requests = "/api/social/friends/requests";

std::string ask(Person& from, const Person& to) {
  return expect(201, from.api.post(requests, {{"user_id", to.user.id}})).body.at("friendship_id");
}

Answer put(Client& api, const std::string& path, const json& body) {
  return api.ask({.method = "PUT", .path = path, .body = body.dump()});
}

void mint(const Berthd& berthd, const json& account, int amount) {
  expect(201, Client(berthd).post("/api/internal/points/mint",
                                  {{"account", account}, {"amount", amount}, {"reason", "test"}},
                                  admin(berthd)));
}

std::string free_hat(const Berthd& berthd) {
  const json hat = {
      {"name", "Hat"}, {"category", "hat"}, {"rarity", "common"}, {"price_points", 0}};
  return expect(201, Client(berthd).post("/api/internal/cosmetics", hat, admin(berthd)))
      .body.at("cosmetic")
      .at("id");
}

Answer transfer(Person& from, json body) {
  body["amount"] = 1;
  if (!body.contains("description")) body["description"] = "listen to me";
  return from.api.post("/api/points/transfer", body);
}

std::string names(const Answer& found) {
  std::string text;
  for (const json& user : found.body.at("users"))
    text += (text.empty() ? "" : " ") + user.at("username").get<std::string>();
  return text;
}

}  // namespace

TEST_CASE("two users become friends, and end it") {
  const Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  Person bob = person(berthd, "bob");
  const Answer asked = expect(201, ada.api.post(requests, {{"username", "BOB"}}));
  CHECK(asked.body.at("status") == "pending");
  const std::string id = asked.body.at("friendship_id");

  const json incoming = expect(200, bob.api.get(requests)).body;
  REQUIRE(incoming.at("requests").size() == 1);
  CHECK(incoming["requests"][0].at("id") == ada.user.id);
  CHECK(incoming["requests"][0].at("friendship_id") == id);
  CHECK(incoming["requests"][0].at("username") == "ada");
  CHECK(incoming["requests"][0].at("sent_at").is_string());
  CHECK(incoming.at("total") == 1);
  const std::string outgoing = std::string(requests) + "?direction=outgoing";
  CHECK(ada.api.get(outgoing).body["requests"][0]["id"] == bob.user.id);
  CHECK(bob.api.get(outgoing).body["total"] == 0);
  CHECK(bob.api.get(std::string(requests) + "?direction=sideways").code() == "validation_failed");

  const std::string path = std::string(requests) + "/" + id;
  CHECK(expect(200, bob.api.post(path + "/accept")).body ==
        json{{"friendship_id", id}, {"status", "accepted"}});
  const json friends = expect(200, ada.api.get("/api/social/friends")).body;
  CHECK(friends.at("friends") ==
        json::array({{{"id", bob.user.id}, {"username", "bob"}, {"email", bob.user.email}}}));
  const json profile = expect(200, ada.api.get("/api/social/users/" + bob.user.id)).body["user"];
  CHECK(profile.at("username") == "bob");
  CHECK(profile.at("tier_emoji").is_string());
  CHECK(profile.at("friendship_status") == "accepted");
  CHECK(profile.at("friendship_id") == id);
  CHECK_FALSE(profile.contains("email"));

  CHECK(expect(200, bob.api.remove("/api/social/friends/" + ada.user.id)).body.at("status") ==
        "removed");
  CHECK(bob.api.remove("/api/social/friends/" + ada.user.id).code() == "friendship_not_found");
  CHECK(ask(ada, bob) != id);
}

TEST_CASE("requests are rejected and withdrawn, only by those who may") {
  const Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  Person bob = person(berthd, "bob");
  Person eve = person(berthd, "eve");
  std::string path = std::string(requests) + "/" + ask(ada, bob);
  CHECK(ada.api.post(requests, {{"user_id", bob.user.id}}).code() == "invalid_state");
  for (const char* decision : {"/accept", "/reject"}) {
    CHECK(ada.api.post(path + decision).code() == "forbidden");
    CHECK(eve.api.post(path + decision).code() == "friendship_not_found");
  }
  CHECK(bob.api.remove(path).code() == "forbidden");
  CHECK(eve.api.remove(path).code() == "friendship_not_found");
  CHECK(expect(200, bob.api.post(path + "/reject")).body.at("status") == "rejected");
  for (const Answer& late :
       {bob.api.post(path + "/accept"), bob.api.post(path + "/reject"), ada.api.remove(path)}) {
    CHECK(late.status == 409);
    CHECK(late.code() == "invalid_state");
  }
  path = std::string(requests) + "/" + ask(ada, bob);
  CHECK(expect(200, ada.api.remove(path)).body.at("status") == "removed");
  CHECK(ada.api.remove(path).code() == "invalid_state");
  // Both users have requested it.
  ask(bob, ada);
  CHECK(expect(201, ada.api.post(requests, {{"user_id", bob.user.id}})).body.at("status") ==
        "accepted");
  CHECK(ada.api.post(requests, {{"user_id", bob.user.id}}).code() == "invalid_state");

  CHECK(ada.api.post(requests, {{"user_id", nobody}}).code() == "user_not_found");
  CHECK(ada.api.post(requests, {{"username", "nobody"}}).code() == "user_not_found");
  CHECK(ada.api.post(requests, {{"user_id", ada.user.id}}).code() == "validation_failed");
  CHECK(ada.api.post(requests, json::object()).code() == "validation_failed");
  CHECK(ada.api.post(requests, {{"user_id", bob.user.id}, {"username", "bob"}}).code() ==
        "validation_failed");
  for (const std::string& bad : {nobody, std::string("x"), std::string("%00")}) {
    CHECK(ada.api.post(std::string(requests) + "/" + bad + "/accept").code() ==
          "friendship_not_found");
    CHECK(ada.api.remove("/api/social/friends/" + bad).code() == "friendship_not_found");
  }
}

TEST_CASE("a block works both ways everywhere") {
  const Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  Person bob = person(berthd, "bob");
  const std::string old = ask(bob, ada);
  const std::string gift = "/api/cosmetics/" + free_hat(berthd) + "/gift";
  for (const Person* one : {&ada, &bob}) mint(berthd, {{"kind", "user"}, {"id", one->user.id}}, 10);
  expect(200, put(bob.api, "/api/social/tables/t1/presence", json::object()));
  expect(200, put(ada.api, "/api/social/tables/t1/presence", json::object()));
  CHECK(ada.api.get("/api/social/tables/t1/presence").body["total"] == 2);

  const json block =
      expect(201, ada.api.post("/api/social/blocks", {{"user_id", bob.user.id}})).body.at("block");
  CHECK(block.at("user_id") == bob.user.id);
  CHECK(block.at("username") == "bob");
  expect(201, ada.api.post("/api/social/blocks", {{"user_id", bob.user.id}}));
  CHECK(ada.api.get("/api/social/blocks").body["blocks"] == json::array({block}));
  CHECK(bob.api.get("/api/social/blocks").body["total"] == 0);
  CHECK(ada.api.post(std::string(requests) + "/" + old + "/accept").code() == "invalid_state");
  for (auto [one, other] : {std::pair(&ada, &bob), std::pair(&bob, &ada)}) {
    const std::string& id = other->user.id;
    INFO(one->user.username);
    CHECK(one->api.get("/api/social/users/search?q=" + other->user.username).body["users"].empty());
    CHECK(one->api.get("/api/social/users/" + id).code() == "user_not_found");
    CHECK(one->api.get("/api/social/presence/" + id).code() == "user_not_found");
    CHECK(one->api.post(requests, {{"user_id", id}}).code() == "user_not_found");
    CHECK(one->api.post(requests, {{"username", other->user.username}}).code() == "user_not_found");
    CHECK(one->api.get("/api/social/tables/t1/presence").body["total"] == 1);
    CHECK(one->api.get("/api/avatars/" + id).code() == "user_not_found");
    CHECK(one->api.post(gift, {{"to_user_id", id}}).code() == "user_not_found");
    const Answer by_id = transfer(*one, {{"to_user_id", id}});
    CHECK(by_id.code() == "user_not_found");
    CHECK(transfer(*one, {{"to_username", other->user.username}}).body == by_id.body);
    // The answer is the same as for a user who doesn't exist, and doesn't come earlier.
    CHECK(transfer(*one, {{"to_user_id", nobody}}).body == by_id.body);
    CHECK(transfer(*one, {{"to_user_id", id}, {"to_username", other->user.username}}).code() ==
          "validation_failed");
    CHECK(transfer(*one, {{"to_user_id", id}, {"description", std::string(201, 'x')}}).code() ==
          "validation_failed");
  }
  CHECK(bob.api.remove("/api/social/blocks/" + ada.user.id).code() == "user_not_found");
  expect(200, ada.api.remove("/api/social/blocks/" + bob.user.id));
  expect(201, bob.api.post(gift, {{"to_user_id", ada.user.id}}));
  expect(200, transfer(bob, {{"to_username", "ada"}}));
  CHECK(ada.api.remove("/api/social/blocks/" + bob.user.id).code() == "user_not_found");
  CHECK(bob.api.get("/api/social/users/" + ada.user.id).body["user"]["friendship_status"] ==
        "removed");
  CHECK(ada.api.post("/api/social/blocks", {{"user_id", nobody}}).code() == "user_not_found");
  CHECK(ada.api.post("/api/social/blocks", {{"user_id", ada.user.id}}).code() ==
        "validation_failed");
}

TEST_CASE("a user is online for a minute, and last_seen survives a restart") {
  Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  Person bob = person(berthd, "bob");
  const std::string adas = "/api/social/presence/" + ada.user.id;
  CHECK(bob.api.get(adas).body["presence"]["status"] == "offline");
  const json put_back = expect(200, put(ada.api, "/api/social/presence",
                                        {{"current_game", "Chess"}, {"lobby", "lobby-1"}}))
                            .body.at("presence");
  CHECK(put_back.at("status") == "online");
  CHECK(ada.api.get("/api/social/presence").body["presence"] == put_back);
  CHECK(bob.api.get(adas).body["presence"] == put_back);
  CHECK(put_back.at("current_game") == "Chess");
  CHECK(put_back.at("lobby") == "lobby-1");

  CHECK(berthd.terminate() == 0);
  berthd.start();
  const json after = bob.api.get(adas).body["presence"];
  CHECK(after.at("status") == "offline");
  CHECK(after.at("last_seen") == put_back.at("last_seen"));
  CHECK(after.at("current_game").is_null());

  expect(200, put(ada.api, "/api/social/presence", json::object()));
  CHECK(bob.api.get(adas).body["presence"]["status"] == "online");
  advance(berthd, 61);
  CHECK(bob.api.get(adas).body["presence"]["status"] == "offline");
  expect(200, put(ada.api, "/api/social/presence", json::object()));
  expect(200, put(ada.api, "/api/social/presence", {{"status", "offline"}}));
  CHECK(bob.api.get(adas).body["presence"]["status"] == "offline");
  CHECK(put(ada.api, "/api/social/presence", {{"status", "away"}}).code() == "validation_failed");
  for (const char* field : {"current_game", "lobby"})
    for (const std::string& bad :
         {std::string(129, 'x'), std::string("a\0b", 3), std::string("two\nlines")})
      CHECK(put(ada.api, "/api/social/presence", {{field, bad}}).code() == "validation_failed");
  CHECK(ada.api.get("/api/social/presence/" + nobody).code() == "user_not_found");
}

TEST_CASE("a table shows who sits there") {
  const Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  Person bob = person(berthd, "bob");
  const std::string table = "/api/social/tables/table-1/presence";
  CHECK(expect(200, ada.api.get(table)).body["entries"].empty());
  const json entry = expect(200, put(ada.api, table, json::object())).body.at("entry");
  CHECK(entry.at("user_id") == ada.user.id);
  CHECK(entry.at("status") == "online");
  CHECK(bob.api.get(table).body["entries"] == json::array({entry}));
  expect(200, put(bob.api, table, json::object()));
  CHECK(bob.api.get(table + "?page=2&page_size=1").body["entries"][0]["user_id"] == bob.user.id);
  advance(berthd, 61);
  expect(200, put(bob.api, table, json::object()));
  const json entries = ada.api.get(table).body["entries"];
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].at("status") == "offline");
  CHECK(entries[1].at("status") == "online");
  CHECK(put(bob.api, table, {{"status", "offline"}}).body["entry"]["status"] == "offline");
  const std::string endless = "/api/social/tables/" + std::string(129, 'x') + "/presence";
  CHECK(put(bob.api, endless, json::object()).code() == "not_found");
}

TEST_CASE("users are found by a part of their names") {
  const Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  for (const char* name : {"anna", "joanna", "Hannah"}) register_user(berthd, name);
  const std::string search = "/api/social/users/search?q=";
  CHECK(names(expect(200, ada.api.get(search + "ann"))) == "anna joanna Hannah");
  CHECK(names(ada.api.get(search + "ada")).empty());
  for (const char* query : {"", "a", "%C3%A9"}) {
    const Answer refused = ada.api.get(search + query);
    CHECK(refused.status == 400);
    CHECK(refused.code() == "query_too_short");
  }
  CHECK(ada.api.get("/api/social/users/search").code() == "query_too_short");
  CHECK(ada.api.get(search + "%00%ff").code() == "validation_failed");
}

TEST_CASE("an app acts for its user, and doesn't learn addresses") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator operator_ada = operator_with_token(berthd, "ada", {"profile:read"});
  Person bob = person(berthd, "bob");
  Client app(berthd, operator_ada.tokens.session_token);
  Client session(berthd, operator_ada.user.jwt);
  const std::string id =
      expect(201, app.post(requests, {{"user_id", bob.user.id}})).body.at("friendship_id");
  expect(200, bob.api.post(std::string(requests) + "/" + id + "/accept"));
  CHECK(app.get("/api/social/friends").body["friends"][0]["email"].is_null());
  CHECK(session.get("/api/social/friends").body["friends"][0]["email"] == bob.user.email);
  CHECK(app.get("/api/social/users/search?q=bob").code() == "wrong_token_type");
  // A heartbeat of a session also counts for the user's presence.
  expect(200, app.post("/api/sessions/heartbeat"));
  CHECK(bob.api.get("/api/social/presence/" + operator_ada.user.id).body["presence"]["status"] ==
        "online");
  expect(200, app.post("/api/sessions/end"));
  CHECK(app.get("/api/social/friends").code() == "token_revoked");
  CHECK(operator_ada.api.get("/api/social/friends").code() == "wrong_token_type");
}

TEST_CASE("live minutes earn points from the treasury") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada", {"profile:read"});
  mint(berthd, {{"kind", "treasury"}}, 1'000);
  Client app(berthd, ada.tokens.session_token);
  const auto points = [&] {
    return Client(berthd, ada.user.jwt).get("/api/auth/me").body["user"]["points"];
  };
  const auto before = points().get<int>();
  CHECK(expect(200, app.get("/api/sessions/status")).body.at("last_heartbeat").is_null());
  for (int i = 0; i < 7; ++i) {
    expect(200, app.post("/api/sessions/heartbeat"));
    advance(berthd, 30);
  }
  const json status = app.get("/api/sessions/status").body;
  CHECK(status.at("points_earned") == 3);
  CHECK(status.at("session_active") == true);
  CHECK(status.at("is_alive") == true);
  CHECK(points() == before + 3);
  // A gap of more than 75 seconds earns nothing.
  advance(berthd, 46);
  CHECK(app.get("/api/sessions/status").body["is_alive"] == false);
  CHECK(app.post("/api/sessions/heartbeat").body["points_earned"] == 3);
}

TEST_CASE("a session without a heartbeat ends by itself, and is refused afterwards") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada", {"profile:read"});
  Client app(berthd, ada.tokens.session_token);
  expect(200, app.post("/api/sessions/heartbeat"));
  advance(berthd, 29 * 60);
  expect(200, app.post("/api/sessions/heartbeat"));
  advance(berthd, 29 * 60);
  CHECK(app.get("/api/sessions/status").body["session_active"] == true);
  expect(200, app.get("/api/social/friends"));
  advance(berthd, 60);
  const json status = expect(200, app.get("/api/sessions/status")).body;
  CHECK(status.at("session_active") == false);
  CHECK(status.at("is_alive") == false);
  for (const char* late : {"/api/sessions/heartbeat", "/api/sessions/refresh"})
    CHECK(app.post(late).code() == "invalid_state");
  CHECK(app.get("/api/social/friends").code() == "token_revoked");
  expect(200, app.post("/api/sessions/end"));
}

TEST_CASE("a deleted account has no friends and isn't found") {
  const Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  Person bob = person(berthd, "bob");
  const std::string id = ask(bob, ada);
  expect(200, ada.api.post(std::string(requests) + "/" + id + "/accept"));
  expect(200, put(bob.api, "/api/social/presence", json::object()));
  expect(200, bob.api.ask({.method = "DELETE",
                           .path = "/api/auth/me",
                           .body = json{{"password", bob.user.password}}.dump()}));
  CHECK(ada.api.get("/api/social/friends").body["total"] == 0);
  CHECK(ada.api.get("/api/social/users/" + bob.user.id).code() == "user_not_found");
  CHECK(ada.api.get("/api/social/presence/" + bob.user.id).code() == "user_not_found");
  CHECK(names(ada.api.get("/api/social/users/search?q=bob")).empty());
}
