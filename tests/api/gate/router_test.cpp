#include "api/gate/router.h"

#include <catch2/catch.hpp>

#include "api/gate/call.h"

namespace {

using namespace berth;
using namespace berth::api;

Reply nothing(const Call&, const Services&) { return {}; }

Route row(std::string_view request, std::string_view name,
          Availability availability = Availability::always) {
  return {.request = request,
          .name = name,
          .tag = "",
          .summary = "",
          .text = "",
          .availability = availability,
          .run = FreeHandler{nothing}};
}

const std::vector<Route> table = {
    row("GET /things/{id}", "get"), row("GET /things/special", "special"),
    row("PUT /things/{id}", "put"), row("GET /things", "list"),
    row("POST /things", "create"),  row("GET /things/{id}/parts/{part}", "part"),
    row("POST /only-post", "post"), row("GET /dev", "dev", Availability::development_only),
};

std::string name_of(const Router::Match& match) {
  return match.route == nullptr ? "" : std::string(match.route->name);
}

TEST_CASE("a path and a method lead to their row") {
  const Router router(table, Environment::development);
  CHECK(name_of(router.find("GET", "/things")) == "list");
  CHECK(name_of(router.find("POST", "/things")) == "create");
  CHECK(name_of(router.find("PUT", "/things/1")) == "put");
  CHECK(name_of(router.find("GET", "/dev")) == "dev");
  // One slash at the end makes no difference.
  CHECK(name_of(router.find("GET", "/things/")) == "list");
  CHECK(name_of(router.find("GET", "/things/1/")) == "get");
  CHECK(router.find("GET", "/things/1/").parameters.at("id") == "1");
}

TEST_CASE("a placeholder matches one segment, which is decoded") {
  const Router router(table, Environment::development);
  const auto match = router.find("GET", "/things/a%2Fb%20c+d/parts/7");
  CHECK(name_of(match) == "part");
  CHECK(match.parameters.at("id") == "a/b c+d");
  CHECK(match.parameters.at("part") == "7");
}

TEST_CASE("fixed segments take precedence over placeholders") {
  const Router router(table, Environment::development);
  CHECK(name_of(router.find("GET", "/things/special")) == "special");
  CHECK(name_of(router.find("GET", "/things/other")) == "get");
  CHECK(name_of(router.find("PUT", "/things/special")) == "put");
}

TEST_CASE("HEAD is served by the row of GET") {
  const Router router(table, Environment::development);
  CHECK(name_of(router.find("HEAD", "/things")) == "list");
  CHECK(name_of(router.find("HEAD", "/things/1")) == "get");
  CHECK(name_of(router.find("HEAD", "/only-post")) == "");
}

TEST_CASE("an unsupported method of a known path is answered with those that are supported") {
  const Router router(table, Environment::development);
  CHECK(router.find("DELETE", "/things").allow == "GET, HEAD, POST");
  CHECK(router.find("DELETE", "/things/1").allow == "GET, HEAD, PUT");
  CHECK(router.find("GET", "/only-post").allow == "POST");
  CHECK(router.find("get", "/things").allow == "GET, HEAD, POST");
  CHECK(router.find("HEAD", "/only-post").allow == "POST");
}

TEST_CASE("each supported method is named once, also where several rows match a path") {
  std::vector<Route> more = table;
  more.push_back(row("GET /things/mine", "mine"));
  more.push_back(row("POST /things/mine", "add"));
  const Router router(more, Environment::development);
  CHECK(router.find("DELETE", "/things/mine").allow == "GET, HEAD, POST, PUT");
}

TEST_CASE("an unknown path matches nothing") {
  const Router router(table, Environment::development);
  for (const char* path : {"", "*", "/", "/thing", "/things//", "/things//parts/1",
                           "/things/1/parts", "/things/1/parts/", "/THINGS", "things", "//things",
                           "/things/1/parts/2/3", "/things/%zz", "/things/%2", "/th%69ngs"}) {
    INFO(path);
    const auto match = router.find("GET", path);
    CHECK(match.route == nullptr);
    CHECK(match.allow == "");
  }
}

TEST_CASE("production doesn't know routes of development") {
  const Router router(table, Environment::production);
  CHECK(router.find("GET", "/dev").route == nullptr);
  CHECK(router.find("GET", "/dev").allow == "");
  CHECK(router.rows().size() == table.size() - 1);
}

TEST_CASE("two rows with the same method and path keep berthd from starting") {
  for (const char* request : {"GET /things", "GET /things/{id}"}) {
    std::vector<Route> twice = table;
    twice.push_back(row(request, "again"));
    CHECK_THROWS_AS(Router(twice, Environment::development), std::logic_error);
  }
}

TEST_CASE("every row of berth's own table is found by its path") {
  for (const auto environment : {Environment::development, Environment::production}) {
    const Router router(routes(), environment);
    for (const Route* route : router.rows()) {
      INFO(route->path());
      CHECK(router.find(route->method(), route->path()).route == route);
    }
  }
}

}  // namespace
