// Statements as they are sent: in three formats, a part at a time.
#include <catch2/catch.hpp>
#include <sstream>
#include <thread>

#include "api/gate/event_stream.h"
#include "controller/domain/ledger/ledger.h"
#include "tests/api/gate_world.h"
#include "tests/domain/ledger/fold_all.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

struct Sent {
  int status = 0;
  std::string content_type;
  std::string text;
  std::size_t steps = 0;
  std::size_t longest = 0;  // what one step sent at most
};

struct Fixture {
  GateWorld g;
  accounts::User owner = g.world.verified_user("owner");
  accounts::User bob = g.world.verified_user("bob");
  apps::App app = g.world.new_app(owner).app;
  std::string jwt = g.world.jwt(bob);

  Fixture() { g.world.mint(ledger::user_account(bob.id), 100); }

  void spend(const std::string& what, std::int64_t amount = 1) {
    g.world.clock.advance(1s);
    g.world.write([&](db::Tx& tx) {
      REQUIRE(ledger::post(tx, ledger::Movement{.kind = "spend",
                                                .from = ledger::user_account(bob.id),
                                                .to = ledger::app_account(app.id),
                                                .amount = amount,
                                                .memo = what}));
      berth::test::fold_all(tx);
    });
  }
  Sent get(const std::string& target, const Header& token) {
    const Response response = g.respond("GET", target, {token});
    Sent sent = {
        .status = response.status, .content_type = response.content_type, .text = response.body};
    if (!response.stream) return sent;
    Next next = Next::more;
    while (next == Next::more) {
      std::size_t bytes = 0;
      next = response.stream([&](std::string_view part) {
        sent.text += part;
        bytes += part.size();
      });
      sent.longest = std::max(sent.longest, bytes);
      ++sent.steps;
    }
    CHECK(next == Next::end);
    return sent;
  }
  Sent own(const std::string& query) { return get("/api/points/statement" + query, bearer(jwt)); }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("a statement is the same as JSON, CSV and JSON lines") {
  Fixture f;
  f.spend("a \"hat\", red", 5);
  f.spend("=HYPERLINK(1)", 2);
  const auto as_json = f.own("?from=2026-01-01");
  REQUIRE(as_json.status == 200);
  CHECK(as_json.content_type == "application/json");
  const json body = json::parse(as_json.text);
  CHECK(body.at("opening_balance") == 0);
  CHECK(body.at("closing_balance") == 93);
  CHECK(body.at("credited") == 100);
  CHECK(body.at("debited") == 7);
  REQUIRE(body.at("entries").size() == 3);
  CHECK(body.at("entries").at(1).at("description") == "a \"hat\", red");
  CHECK(body.at("entries").at(1).at("balance") == 95);
  CHECK(body.at("entries").at(2).at("counterparty").at("name") == "My game");

  const auto as_lines = f.own("?from=2026-01-01&format=jsonl");
  CHECK(as_lines.content_type == "application/x-ndjson");
  const auto lines = lines_of(as_lines.text);
  REQUIRE(lines.size() == 5);
  CHECK(json::parse(lines[0]).at("type") == "opening");
  json entry = json::parse(lines[2]);
  CHECK(entry.at("type") == "entry");
  entry.erase("type");
  CHECK(entry == body.at("entries").at(1));
  CHECK(json::parse(lines[4]).at("closing_balance") == 93);

  const auto as_csv = f.own("?from=2026-01-01&format=csv");
  CHECK(as_csv.content_type == "text/csv; charset=utf-8");
  const auto records = lines_of(as_csv.text);
  REQUIRE(records.size() == 6);
  CHECK_THAT(records[0], Catch::StartsWith("id,inserted_at,kind,amount,balance,"));
  CHECK(records[1] == ",2026-01-01,opening_balance,,0,,,,\r");
  CHECK_THAT(records[3], Catch::Contains(",spend,-5,95,app," + f.app.id +
                                         ",\"My game\",\"a \"\"hat\"\", red\"\r"));
  CHECK_THAT(records[4], Catch::Contains("\"'=HYPERLINK(1)\""));
  CHECK(records[5] == ",2026-01-31,closing_balance,,93,,,,\r");
}

TEST_CASE("a statement of ten years is sent in parts of a bounded size, and nothing is lost") {
  Fixture f;
  f.g.world.mint(ledger::user_account(f.bob.id), 10'000);
  constexpr int years = 10;
  constexpr int movements = 3'000;
  for (int i = 0; i < movements; ++i) {
    if (i % (movements / (years * 10)) == 0) f.g.world.clock.advance(36h + 24h * 35);
    f.spend("movement " + std::to_string(i));
  }
  // The login of the beginning is over.
  f.jwt = f.g.world.jwt(f.bob);
  const auto sent = f.own("?from=2026-01-01&format=jsonl");
  const auto lines = lines_of(sent.text);
  CHECK(lines.size() == movements + 4);
  CHECK(sent.steps >= 6);
  CHECK(sent.longest < 300'000);
  const json closing = json::parse(lines.back());
  CHECK(closing.at("debited") == movements);
  CHECK(closing.at("closing_balance") == f.g.world.balance(ledger::user_account(f.bob.id)));
  std::int64_t wrong = 0, next = 0;
  for (const std::string& line : lines) {
    const json one = json::parse(line);
    if (one.value("kind", "") != "spend") continue;
    if (one.at("description") != "movement " + std::to_string(next++)) ++wrong;
  }
  CHECK(next == movements);
  CHECK(wrong == 0);
}

TEST_CASE("an app's statement is for its owner, and bad queries are refused") {
  Fixture f;
  f.spend("a hat", 5);
  const Header owner = bearer(f.g.world.tokens(f.app, f.owner).access_token);
  const Header player = bearer(f.g.world.tokens(f.app, f.bob).access_token);
  const json body = json::parse(f.get("/api/operator/statement", owner).text);
  CHECK(body.at("account") == json{{"kind", "app"}, {"id", f.app.id}});
  CHECK(body.at("closing_balance") == 5);
  // What users are called is for apps with profile:read.
  REQUIRE(body.at("entries").size() == 1);
  CHECK(body.at("entries").at(0).at("counterparty").at("id") == f.bob.id);
  CHECK(body.at("entries").at(0).at("counterparty").at("name").is_null());
  CHECK(f.get("/api/operator/statement?format=csv", owner).text.find("\"bob\"") ==
        std::string::npos);
  CHECK(f.get("/api/operator/statement", player).status == 403);
  CHECK(f.own("?format=pdf").status == 422);
  CHECK(f.own("?from=2026-02-02&to=2026-02-01").status == 422);
  CHECK(f.own("?from=yesterday").status == 422);
}

TEST_CASE("a statement whose token ends is cut off") {
  Fixture f;
  f.spend("a hat");
  const Response response = f.g.respond("GET", "/api/points/statement", {bearer(f.jwt)});
  REQUIRE(response.stream);
  f.g.world.suspend_user(f.bob.id);
  // The token is looked at every few seconds, by the machine's clock.
  std::this_thread::sleep_for(bearer_check_interval + 100ms);
  CHECK(response.stream([](std::string_view) {}) == Next::break_off);
}

}  // namespace
