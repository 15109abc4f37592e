// What a list says of where it goes on.
#include <catch2/catch.hpp>

#include "api/gate/next_link.h"
#include "api/gate/schema.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

// The URL in a Link header with rel="next", as a path with its query.
std::string next_of(const Answered& answer) {
  const std::string link = answer.header("Link");
  if (link.empty()) return "";
  const std::string base = "<https://api.example.org";
  const std::string end = ">; rel=\"next\"";
  REQUIRE(link.starts_with(base));
  REQUIRE(link.ends_with(end));
  return link.substr(base.size(), link.size() - base.size() - end.size());
}

TEST_CASE("by its links, a list is walked from its first entry to its last") {
  Operator o;
  for (int i = 0; i < 7; ++i)
    REQUIRE(o.g.ask("POST", "/api/deploy/apps", {o.token}, o.order("shop" + std::to_string(i)))
                .status == 201);
  std::string path = "/api/deploy/apps?page_size=3";
  std::vector<std::string> names;
  std::vector<json> pages;
  while (!path.empty()) {
    const auto answer = o.g.ask("GET", path, {o.token});
    REQUIRE(answer.status == 200);
    for (const json& one : answer.body["deployments"]) names.push_back(one["subdomain"]);
    pages.push_back(answer.body["next_page"]);
    path = next_of(answer);
    REQUIRE(pages.size() < 10);
  }
  CHECK(pages == std::vector<json>{2, 3, nullptr});
  CHECK(names ==
        std::vector<std::string>{"shop6", "shop5", "shop4", "shop3", "shop2", "shop1", "shop0"});
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == 7);
}

TEST_CASE("a link keeps what the caller asked for, and nothing that the route doesn't know") {
  Operator o;
  for (int i = 0; i < 3; ++i) o.g.world.mint(ledger::user_account(o.user.id), 1);
  const auto answer = o.g.ask(
      "GET",
      "/api/points/history/?kind=mint&page_size=1&page=2&from=2020-01-01T00%3A00%3A00%2B02%3A00"
      "&x=%3E%3B%20rel%3Devil&direction=in",
      {bearer(o.jwt)});
  REQUIRE(answer.status == 200);
  CHECK(next_of(answer) ==
        "/api/points/history?page_size=1&kind=mint&direction=in&from=2020-01-01T00%3A00%3A00%2B02%"
        "3A00&cursor=" +
            answer.body["next_cursor"].get<std::string>());
  const auto last = o.g.ask("GET", next_of(answer), {bearer(o.jwt)});
  REQUIRE(last.status == 200);
  CHECK(last.body["page"] == 3);
  CHECK(last.body["entries"].size() == 1);
  CHECK(last.body["next_cursor"] == nullptr);
}

// An account with entries of the sizes 1 to `count`, the last one newest.
struct History {
  Operator o;
  explicit History(int count) {
    for (int i = 1; i <= count; ++i) add(i);
  }
  void add(int points) { o.g.world.mint(ledger::user_account(o.user.id), points); }
  Answered ask(const std::string& query) {
    return o.g.ask("GET", "/api/points/history?" + query, {bearer(o.jwt)});
  }
};

std::vector<int> amounts(const Answered& answer) {
  std::vector<int> found;
  for (const json& entry : answer.body.at("entries")) found.push_back(entry.at("amount"));
  return found;
}
std::string cursor_of(const Answered& answer) { return answer.body.at("next_cursor"); }

TEST_CASE("a cursor leads to the same entries while entries are added") {
  History h(6);
  const auto first = h.ask("page_size=2");
  CHECK(amounts(first) == std::vector{6, 5});
  for (int points = 7; points < 12; ++points) h.add(points);
  const auto second = h.ask("page_size=2&cursor=" + cursor_of(first));
  CHECK(amounts(second) == std::vector{4, 3});
  CHECK(second.body["page"] == 2);
  CHECK(second.body["total"] == 11);
  // The size of a page may change on the way.
  const auto rest = h.ask("page_size=10&cursor=" + cursor_of(second));
  CHECK(amounts(rest) == std::vector{2, 1});
  CHECK(rest.body["next_page"] == nullptr);
  CHECK(rest.header("Link").empty());
}

TEST_CASE("a cursor is refused by other lists and other filters") {
  History h(3);
  const std::string cursor = cursor_of(h.ask("page_size=1&kind=mint"));
  CHECK(h.ask("page_size=1&kind=mint&cursor=" + cursor).status == 200);
  const auto refused = [&](const Answered& answer) {
    return answer.error() == "422 validation_failed" &&
           answer.body["error"]["details"].contains("cursor");
  };
  CHECK(refused(h.ask("page_size=1&cursor=" + cursor)));
  CHECK(refused(h.ask("page_size=1&kind=spend&cursor=" + cursor)));
  CHECK(refused(h.ask("page_size=1&kind=mint&page=2&cursor=" + cursor)));
  CHECK(refused(h.o.g.ask("GET", "/api/oauth/my-apps?cursor=" + cursor, {bearer(h.o.jwt)})));
  for (const std::string& bad :
       {std::string(), std::string("x"), std::string("!"), cursor + "A", cursor.substr(1),
        cursor + "=", base64url("[1]"), base64url("{}"), std::string(100'000, 'A')}) {
    INFO(bad.substr(0, 100));
    CHECK(refused(h.ask("kind=mint&cursor=" + bad)));
  }
}

TEST_CASE("a cursor that somebody made up shows nothing but the caller's own list") {
  History h(3);
  const auto answer = h.ask("page_size=1");
  const json honest = json::parse(*parse_base64url(cursor_of(answer)));
  const auto with = [&](size_t part, const json& value) {
    json forged = honest;
    forged[part] = value;
    return h.ask("cursor=" + base64url(forged.dump()));
  };
  CHECK(amounts(with(3, honest[3])) == std::vector{2, 1});
  CHECK(amounts(with(3, json::array({INT64_MAX, 0}))) == std::vector{3, 2, 1});
  CHECK(amounts(with(3, json::array({0, 0}))).empty());
  for (const json& position :
       {json(nullptr), json::array(), json::array({1}), json::array({1, 2, 3}),
        json::array({"1", "2"}), json::array({1, nullptr}), json::array({1.5, 2})}) {
    INFO(position.dump());
    CHECK(with(3, position).error() == "422 validation_failed");
  }
  for (const json& page : {json(0), json(-1), json("2"), json(2e9), json(nullptr)})
    CHECK(with(2, page).error() == "422 validation_failed");
  CHECK(with(0, 2).error() == "422 validation_failed");
}

TEST_CASE("page numbers that would skip very many entries are refused and name the cursor") {
  History h(1);
  CHECK(h.ask("page_size=100&page=101").status == 200);
  CHECK(h.ask("page_size=1&page=10001").status == 200);
  const auto refused = h.ask("page_size=100&page=102");
  CHECK(refused.error() == "422 validation_failed");
  CHECK(refused.body["error"]["message"].get<std::string>().find("next_cursor") !=
        std::string::npos);
}

TEST_CASE("long lists are counted up to 10,000, and walked to their end") {
  GateWorld g;
  constexpr int entries = 10'250;
  g.world.write([&](db::Tx& tx) {
    tx.execute(R"(
        WITH RECURSIVE numbers (n) AS
          (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
        INSERT INTO audit_log (id, actor, action, target, details, at)
        SELECT printf('%08d', n), 'a', 'b', 'c', '{}', n FROM numbers)",
               entries);
  });
  const std::vector<Header> secret = {{"x-internal-secret", "internal secret"}};
  std::string path = "/api/internal/audit?page_size=100&page=101";  // the last number that is taken
  auto answer = g.ask("GET", path, secret);
  REQUIRE(answer.status == 200);
  CHECK(answer.body["total"] == 10'000);
  CHECK(answer.body["total_is_at_least"] == true);
  CHECK(answer.body["entries"][0]["id"] == "00000250");
  int left = 0;
  while (true) {
    left += int(answer.body["entries"].size());
    path = next_of(answer);
    if (path.empty()) break;
    answer = g.ask("GET", path, secret);
    REQUIRE(answer.status == 200);
  }
  CHECK(left == 250);
  CHECK(answer.body["page"] == 103);
}

TEST_CASE("a request that takes too long in the database is answered with 503") {
  Operator o;
  std::optional<Answered> answer;
  // World has two ordinary connections for reading.
  o.g.world.db.read([&](db::Tx&) {
    o.g.world.db.read(
        [&](db::Tx&) { answer = o.g.ask("GET", "/api/points/history", {bearer(o.jwt)}); });
  });
  CHECK(answer->status == 503);
  CHECK(answer->body["errors"]["code"] == "too_slow");
  CHECK(answer->header("Retry-After") == "10");
  CHECK(o.g.ask("GET", "/api/points/history", {bearer(o.jwt)}).status == 200);
}

TEST_CASE("operations that read very many rows have connections of their own") {
  std::set<std::string_view> heavy;
  for (const Route& route : routes())
    if (route.readers == db::Readers::heavy) heavy.insert(route.name);
  CHECK(heavy == std::set<std::string_view>{"anyReceipt", "campaignAnalytics", "checkAudit",
                                            "ledgerAudit", "listAllDeployments",
                                            "operatorAnalytics", "platformMoney",
                                            "previewTierPrice", "receipt"});
}

TEST_CASE("a page with a high number doesn't take the connections of others") {
  Operator o;
  std::vector<int> statuses;
  o.g.world.db.read([&](db::Tx&) {
    o.g.world.db.read([&](db::Tx&) {
      // Now both ordinary connections are in use.
      for (const char* page : {"1", "9", "10", "500"})
        statuses.push_back(
            o.g.ask("GET", std::string("/api/points/history?page=") + page, {bearer(o.jwt)})
                .status);
    });
  });
  CHECK(statuses == std::vector<int>{503, 503, 200, 200});
}

TEST_CASE("an operation without pages stays on the connections that it has") {
  Operator o;
  int status = 0;
  o.g.world.db.read([&](db::Tx&) {
    o.g.world.db.read([&](db::Tx&) {
      status = o.g.ask("GET", "/api/points/balance?page=10", {bearer(o.jwt)}).status;
    });
  });
  CHECK(status == 503);
}

TEST_CASE("a link that would be too long isn't there") {
  const auto link_for = [](const std::string& q) {
    Request request;
    request.method = "GET";
    request.path = "/api/internal/users";
    request.query = {{"q", q}};
    const auto route = std::ranges::find(routes(), "listUsers", &Route::name);
    const Call call = {.http = request, .route = &*route};
    return next_link(call, "https://api.example.org", "page", "2");
  };
  CHECK(link_for("x") == "<https://api.example.org/api/internal/users?q=x&page=2>; rel=\"next\"");
  CHECK(link_for(std::string(max_link_length, 'x')) == std::nullopt);
}

TEST_CASE("a hundred entries may be on a page") {
  Operator o;
  CHECK(o.g.ask("GET", "/api/points/history?page_size=100", {bearer(o.jwt)}).status == 200);
  CHECK(o.g.ask("GET", "/api/points/history", {bearer(o.jwt)}).body["page_size"] == 20);
}

TEST_CASE("every list with pages can be gone through by cursor, as its schema says") {
  int lists = 0;
  for (const Route& route : routes()) {
    if (!route.paged) continue;
    ++lists;
    INFO(route.name);
    const json schema = inlined_schema(route.answer.schema);
    for (const char* field :
         {"next_page", "next_cursor", "total", "total_is_at_least", "page", "page_size"})
      CHECK(schema["properties"].contains(field));
    CHECK(std::ranges::find(params_of(route)[0], "cursor", &Param::name) !=
          params_of(route)[0].end());
  }
  CHECK(lists > 25);
}

}  // namespace
