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
        "3A00&page=3");
  CHECK(o.g.ask("GET", next_of(answer), {bearer(o.jwt)}).status == 200);
}

TEST_CASE("a link that would be too long isn't there") {
  const auto link_for = [](const std::string& q) {
    Request request;
    request.method = "GET";
    request.path = "/api/internal/users";
    request.query = {{"q", q}};
    const auto route = std::ranges::find(routes(), "listUsers", &Route::name);
    const Call call = {.http = request,
                       .route = &*route,
                       .request_id = {},
                       .path = {},
                       .body = {},
                       .address = {},
                       .user = {},
                       .session_id = {},
                       .caller = {},
                       .play = {},
                       .admin = {}};
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

TEST_CASE("every list with pages has next_page, in its schema too") {
  int lists = 0;
  for (const Route& route : routes()) {
    const bool paged = std::any_of(route.query.begin(), route.query.end(),
                                   [](const Param& param) { return param.name == "page"; });
    if (!paged) continue;
    ++lists;
    INFO(route.name);
    const json schema = inlined_schema(route.answer.schema);
    CHECK(schema["properties"].contains("next_page"));
    CHECK(schema["properties"].contains("total"));
  }
  CHECK(lists > 25);
}

}  // namespace
