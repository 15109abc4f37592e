// Points over HTTP: who may move them, what is refused, and many simultaneous requests.
#include <atomic>
#include <catch2/catch.hpp>
#include <latch>
#include <thread>

#include "tests/process/client.h"

using namespace berth::process;

namespace {

const Flags unlimited = {"--rate-limits", "off"};
const std::vector<std::string> scopes = {"points:spend", "points:read", "points:transfer",
                                         "app:balance:read"};
constexpr const char* spend_path = "/api/external/points/spend";
constexpr const char* refunds_path = "/api/external/points/refunds";

void mint(const Berthd& berthd, const std::string& kind, const std::string& id,
          std::int64_t amount) {
  json account = {{"kind", kind}};
  if (!id.empty()) account["id"] = id;
  expect(201, Client(berthd).post("/api/internal/points/mint",
                                  {{"account", account}, {"amount", amount}, {"reason", "test"}},
                                  admin(berthd)));
}

// An operator who spends their own points in their own app.
struct Fixture {
  const Berthd& berthd = shared_berthd(unlimited);
  Operator ada = operator_with_token(berthd, fresh_name("ada"), scopes);
  std::int64_t free_points = balance();  // from signing up
  Headers key(const std::string& value) { return {{"Idempotency-Key", value}}; }

  std::int64_t balance() {
    return expect(200, ada.api.get("/api/external/points/balance")).body.at("points");
  }
  std::int64_t app_balance() {
    return expect(200, ada.api.get("/api/external/app/balance")).body.at("balance");
  }
  // A client with a token of another user for the app.
  Client player(const User& user) {
    const Code code = authorize(berthd, user, ada.app, {"points:spend", "points:read"});
    return Client(berthd, tokens_of(expect(200, Client(berthd).post("/api/oauth/token",
                                                                    code_exchange(ada.app, code))))
                              .access_token);
  }
  void empty() { expect(200, ada.api.post(spend_path, {{"amount", free_points}})); }
  void check_ledger() {
    const Answer audit =
        expect(200, Client(berthd).get("/api/internal/ledger/audit", admin(berthd)));
    INFO(audit.text);
    CHECK(audit.body.at("ok") == true);
    CHECK(audit.body.at("checks").size() >= 5);
  }
};

TEST_CASE("spend, transfer, balance and history over HTTP") {
  Fixture f;
  const User bob = register_verified_user(f.berthd, fresh_name("bob"));
  mint(f.berthd, "user", f.ada.user.id, 100);
  const std::int64_t start = f.free_points + 100;

  const Answer spent =
      expect(200, f.ada.api.post(spend_path, {{"amount", 30}, {"description", "a hat"}}));
  CHECK(spent.body == json({{"success", true},
                            {"points", start - 30},
                            {"amount_spent", 30},
                            {"spend_id", spent.body.at("spend_id")}}));
  CHECK(f.app_balance() == 30);
  const Answer moved = expect(200, f.ada.api.post("/api/external/points/transfer",
                                                  {{"to_username", bob.username}, {"amount", 20}}));
  CHECK(moved.body ==
        json({{"success", true}, {"points", start - 50}, {"amount_transferred", 20}}));
  Client session(f.berthd, f.ada.user.jwt);
  expect(200, session.post("/api/points/transfer",
                           {{"to_user_id", bob.id}, {"amount", 1}, {"description", "thanks"}}));
  CHECK(session.get("/api/points/balance").body == json({{"points", start - 51}}));
  CHECK(
      session.post("/api/points/transfer", {{"to_user_id", f.ada.user.id}, {"amount", 1}}).code() ==
      "validation_failed");
  CHECK(session.post("/api/points/transfer", {{"to_username", "nobody"}, {"amount", 1}}).code() ==
        "user_not_found");
  CHECK(session.post("/api/points/transfer", {{"to_username", bob.username}, {"amount", start}})
            .code() == "insufficient_balance");

  const json history = expect(200, session.get("/api/points/history?page_size=3")).body;
  REQUIRE(history.at("entries").size() == 3);
  CHECK(history["entries"][0]["description"] == "thanks");
  CHECK(history["entries"][0]["amount"] == -1);
  CHECK(history["entries"][0]["counterparty"]["name"] == bob.username);
  CHECK(history["entries"][2]["kind"] == "spend");
  CHECK(history["entries"][2]["counterparty"]["id"] == f.ada.app.id);
  CHECK(session.get("/api/points/history?direction=in").body["entries"][0]["kind"] == "mint");
  CHECK(session.get("/api/points/history?direction=up").code() == "validation_failed");
  CHECK(session.get("/api/points/history?from=yesterday").code() == "validation_failed");

  const json analytics = expect(200, f.ada.api.get("/api/operator/analytics?window_days=7")).body;
  CHECK(analytics["total_spends"] == 1);
  CHECK(analytics["earnings"] == 30);
  CHECK(analytics["period"] == "7d");
  CHECK(f.ada.api.get("/api/operator/analytics?window_days=0").code() == "validation_failed");
  const Answer award = f.ada.api.post("/api/external/points/award", {{"amount", 1}});
  CHECK(award.status == 403);
  CHECK(award.code() == "forbidden");
  f.check_ledger();
}

TEST_CASE("a player without app:balance:read can't see the app's analytics") {
  Fixture f;
  const User bob = register_verified_user(f.berthd, fresh_name("bob"));
  const Code code = authorize(f.berthd, bob, f.ada.app, {"points:spend"});
  Client player(f.berthd,
                tokens_of(expect(200, Client(f.berthd).post("/api/oauth/token",
                                                            code_exchange(f.ada.app, code))))
                    .access_token);
  CHECK(player.get("/api/operator/analytics").code() == "insufficient_scope");
  CHECK(player.get("/api/external/app/balance").code() == "insufficient_scope");
  CHECK(player.get("/api/external/points/balance").code() == "insufficient_scope");
}

TEST_CASE("invalid amounts are refused with a clear error, and move nothing") {
  Fixture f;
  const auto spend = [&](const std::string& amount) {
    return f.ada.api.ask({.method = "POST",
                          .path = spend_path,
                          .body = R"({"amount":)" + amount + "}",
                          .headers = {{"Content-Type", "application/json"}}});
  };
  const auto mint = [&](const std::string& amount) {
    Headers headers = admin(f.berthd);
    headers.emplace("Content-Type", "application/json");
    return Client(f.berthd).ask(
        {.method = "POST",
         .path = "/api/internal/points/mint",
         .body = R"({"account":{"kind":"treasury"},"reason":"r","amount":)" + amount + "}",
         .headers = headers});
  };
  for (const char* amount : {"1.5", "\"1\"", "true", "null", "[]"}) {
    INFO(amount);
    CHECK(spend(amount).status == 400);
    CHECK(spend(amount).code() == "malformed_request");
    CHECK(mint(amount).code() == "validation_failed");
  }
  for (const char* amount : {"0", "-1", "9007199254740992", "9223372036854775807",
                             "9223372036854775808", "18446744073709551615"}) {
    INFO(amount);
    CHECK(spend(amount).status == 422);
    CHECK(spend(amount).code() == "validation_failed");
    CHECK(mint(amount).code() == "validation_failed");
  }
  for (const char* amount : {"1e400", "99999999999999999999999", "", "NaN"}) {
    INFO(amount);
    const Answer answer = spend(amount);
    CHECK((answer.status == 400 || answer.status == 422));
    CHECK_FALSE(answer.code().empty());
    CHECK(mint(amount).status / 100 == 4);
  }
  CHECK(f.ada.api.post(spend_path, json::object()).code() == "malformed_request");
  CHECK(f.ada.api.post(spend_path, json::array()).code() == "malformed_request");
  CHECK(f.ada.api.post(spend_path, {{"amount", 1}, {"description", 5}}).code() ==
        "validation_failed");
  CHECK(f.balance() == f.free_points);
  f.check_ledger();
}

TEST_CASE("sixty-four clients spend a balance of a thousand points to its last point") {
  constexpr int clients = 64, points = 1'000, tries = 20;
  Fixture f;
  f.empty();
  const std::int64_t before = f.app_balance();
  mint(f.berthd, "user", f.ada.user.id, points);
  std::atomic<int> spent = 0, refused = 0, other = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < clients; ++i)
      threads.emplace_back([&] {
        Client client(f.berthd, f.ada.tokens.access_token);
        for (int attempt = 0; attempt < tries; ++attempt) {
          const Answer answer = client.post(spend_path, {{"amount", 1}});
          const bool too_little = answer.status == 422 && answer.code() == "insufficient_balance";
          ++(answer.status == 200 ? spent : too_little ? refused : other);
        }
      });
  }
  CHECK(spent == points);
  CHECK(refused == clients * tries - points);
  CHECK(other == 0);
  CHECK(f.balance() == 0);
  CHECK(f.app_balance() == before + points);
  f.check_ledger();
}

TEST_CASE("an app gives a player back what they spent, by its own token alone") {
  Fixture f;
  const User bob = register_verified_user(f.berthd, fresh_name("bob"));
  mint(f.berthd, "user", bob.id, 1'000);
  Client player = f.player(bob);
  const auto has = [&] { return player.get("/api/external/points/balance").body.at("points"); };
  const std::int64_t before = has();
  const std::string spend =
      expect(200, player.post(spend_path, {{"amount", 30}})).body.at("spend_id");
  const json order = {{"spend_id", spend}, {"amount", 12}, {"reason", "sold out"}};

  const Answer refused = player.post(refunds_path, order);
  CHECK(refused.status == 403);
  CHECK(refused.code() == "forbidden");
  CHECK(Client(f.berthd).post(refunds_path, order).status == 401);
  CHECK(Client(f.berthd, bob.jwt).post(refunds_path, order).status == 401);
  CHECK(has() == before - 30);

  const Answer made = expect(201, f.ada.api.post(refunds_path, order, f.key("refund-1")));
  const json& refund = made.body.at("refund");
  CHECK(refund.at("spend_id") == spend);
  CHECK(refund.at("amount") == 12);
  CHECK(made.body.at("refunded") == 12);
  CHECK(made.body.at("refundable") == 18);
  CHECK(f.ada.api.post(refunds_path, order, f.key("refund-1")).text == made.text);
  CHECK(has() == before - 18);
  json other = order;
  other["amount"] = 13;
  CHECK(f.ada.api.post(refunds_path, other, f.key("refund-1")).code() == "idempotency_conflict");

  // The grant client_credentials stands for the app.
  const std::string credentials =
      expect(200, Client(f.berthd).post("/api/oauth/token",
                                        {{"grant_type", "client_credentials"},
                                         {"client_id", f.ada.app.client_id},
                                         {"client_secret", f.ada.app.client_secret}}))
          .body.at("access_token");
  Client app(f.berthd, credentials);
  other["amount"] = 19;
  const Answer exceeding = app.post(refunds_path, other);
  CHECK(exceeding.status == 422);
  CHECK(exceeding.code() == "refund_exceeds_spend");
  other["amount"] = 18;
  other.erase("reason");
  CHECK(expect(201, app.post(refunds_path, other)).body.at("refundable") == 0);
  CHECK(has() == before);

  const json history =
      expect(200, Client(f.berthd, bob.jwt).get("/api/points/history?kind=refund")).body;
  REQUIRE(history.at("entries").size() == 2);
  CHECK(history["entries"][1]["id"] == refund.at("id"));
  CHECK(history["entries"][1]["description"] == "sold out");
  f.check_ledger();
}

TEST_CASE("what can't be given back is refused, and moves nothing") {
  Fixture f;
  const User bob = register_verified_user(f.berthd, fresh_name("bob"));
  mint(f.berthd, "user", bob.id, 1'000);
  Client player = f.player(bob);
  const std::string spend =
      expect(200, player.post(spend_path, {{"amount", 30}})).body.at("spend_id");
  const auto refused = [&](const json& body) {
    const Answer answer = f.ada.api.post(refunds_path, body);
    return std::to_string(answer.status) + " " + answer.code();
  };
  for (const json& amount :
       {json(0), json(-1), json(1.5), json("1"), json(nullptr), json(9007199254740992)}) {
    INFO(amount);
    CHECK(refused({{"spend_id", spend}, {"amount", amount}}) == "422 validation_failed");
  }
  CHECK(refused({{"amount", 1}}) == "422 validation_failed");
  CHECK(refused({{"spend_id", "x"}, {"amount", 1}}) == "422 validation_failed");
  CHECK(refused({{"spend_id", spend}, {"amount", 1}, {"reason", std::string(201, 'x')}}) ==
        "422 validation_failed");
  CHECK(refused({{"spend_id", bob.id}, {"amount", 1}}) == "404 not_found");
  Operator eve = operator_with_token(f.berthd, fresh_name("eve"), scopes);
  const Answer foreign = eve.api.post(refunds_path, {{"spend_id", spend}, {"amount", 1}});
  CHECK(foreign.status == 404);
  CHECK(foreign.code() == "not_found");
  CHECK(f.app_balance() == 30);

  // Administrators give a reason.
  constexpr const char* any = "/api/internal/points/refunds";
  Client root(f.berthd);
  json order = {{"spend_id", spend}, {"amount", 1}};
  CHECK(root.post(any, order, admin(f.berthd)).code() == "validation_failed");
  order["reason"] = "the game was broken";
  CHECK(root.post(any, order).status == 403);
  CHECK(expect(201, root.post(any, order, admin(f.berthd))).body.at("refunded") == 1);
  CHECK(f.app_balance() == 29);

  expect(200, Client(f.berthd, bob.jwt)
                  .ask({.method = "DELETE",
                        .path = "/api/auth/me",
                        .body = json({{"password", bob.password}}).dump(),
                        .headers = {{"Content-Type", "application/json"}}}));
  CHECK(refused({{"spend_id", spend}, {"amount", 1}}) == "409 invalid_state");
  CHECK(f.app_balance() == 29);
  f.check_ledger();
}

TEST_CASE("thirty-two refunds of one spend at once never exceed it") {
  constexpr int clients = 32, amount = 100, each = 7;
  Fixture f;
  f.empty();
  mint(f.berthd, "user", f.ada.user.id, amount);
  const std::string spend =
      expect(200, f.ada.api.post(spend_path, {{"amount", amount}})).body.at("spend_id");
  const std::int64_t before = f.app_balance();
  std::atomic<int> made = 0, refused = 0, other = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < clients; ++i)
      threads.emplace_back([&] {
        Client client(f.berthd, f.ada.tokens.access_token);
        const Answer answer = client.post(refunds_path, {{"spend_id", spend}, {"amount", each}});
        const bool exceeds = answer.status == 422 && answer.code() == "refund_exceeds_spend";
        ++(answer.status == 201 ? made : exceeds ? refused : other);
      });
  }
  CHECK(made == amount / each);
  CHECK(refused == clients - amount / each);
  CHECK(other == 0);
  CHECK(f.balance() == amount / each * each);
  CHECK(f.app_balance() == before - amount / each * each);
  f.check_ledger();
}

TEST_CASE("two simultaneous requests with one key have one effect and one answer") {
  Fixture f;
  for (int round = 0; round < 20; ++round) {
    const std::string key = "round-" + std::to_string(round);
    std::vector<Answer> answers(2);
    std::latch ready(2);
    {
      std::vector<std::jthread> threads;
      for (Answer& answer : answers)
        threads.emplace_back([&] {
          Client client(f.berthd, f.ada.tokens.access_token);
          client.get("/api/external/points/balance");  // the app is connected
          ready.arrive_and_wait();
          answer = client.post(spend_path, {{"amount", 1}}, f.key(key));
        });
    }
    INFO(answers[0].text << " and " << answers[1].text);
    CHECK(answers[0].status == 200);
    CHECK(answers[0].text == answers[1].text);
    CHECK(f.balance() == f.free_points - 1 - round);
  }
  f.check_ledger();
}

TEST_CASE("a key with another body is a conflict, and another user's key is separate") {
  Fixture f;
  expect(200, f.ada.api.post(spend_path, {{"amount", 1}}, f.key("k")));
  const Answer conflict = f.ada.api.post(spend_path, {{"amount", 2}}, f.key("k"));
  CHECK(conflict.status == 409);
  CHECK(conflict.code() == "idempotency_conflict");
  Operator bob = operator_with_token(f.berthd, fresh_name("bob"), scopes);
  CHECK(bob.api.post(spend_path, {{"amount", 2}}, f.key("k")).status == 200);
  // A refusal is stored, too: the same request gets the same answer, whatever has changed since.
  const json too_much = {{"amount", 1'000'000}};
  const Answer refused = f.ada.api.post(spend_path, too_much, f.key("much"));
  CHECK(refused.code() == "insufficient_balance");
  mint(f.berthd, "user", f.ada.user.id, 1'000'000);
  CHECK(f.ada.api.post(spend_path, too_much, f.key("much")).text == refused.text);
  CHECK(f.ada.api.post(spend_path, too_much, f.key("much again")).status == 200);
  f.check_ledger();
}

TEST_CASE("with an empty treasury nobody gets a bonus, and everything else works") {
  Berthd berthd([] {
    Flags flags = unlimited;
    flags.insert(flags.end(), {"--treasury-genesis", "0"});
    return flags;
  }());
  Operator ada = operator_with_token(berthd, "ada", scopes);
  CHECK(ada.api.get("/api/external/points/balance").body["points"] == 0);
  register_verified_user(berthd, "bob");
  int said = 0;
  for (const json& line : berthd.log())
    said += line.value("msg", "").find("treasury is empty") != std::string::npos;
  CHECK(said == 1);
  CHECK(ask_metrics(berthd, "/metrics").text.find("berth_rewards_refused_total") !=
        std::string::npos);
  mint(berthd, "user", ada.user.id, 5);
  CHECK(ada.api.post(spend_path, {{"amount", 5}}).status == 200);
}

}  // namespace
