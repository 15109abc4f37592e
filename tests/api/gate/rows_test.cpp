// What the rows of the table of routes say of each operation.
#include <catch2/catch.hpp>
#include <iostream>

#include "api/gate/call.h"
#include "api/gate/decode.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::api;

constexpr const char* id_in_capitals = "01936F5E-7C1A-7000-8000-00000000000C";
constexpr const char* id_in_lower_case = "01936f5e-7c1a-7000-8000-00000000000c";

// Calls `read` with the call that a request with this parameter makes.
template <typename Read>
auto with_parameter(const Route& route, const Param& param, const std::string& value, Read&& read) {
  Request request;
  request.query = {{std::string(param.name), value}};
  return read(Call{.http = request, .route = &route});
}

bool refuses_number(const Route& route, const Param& param, const std::string& value) {
  return with_parameter(route, param, value, [&](const Call& call) {
    return berth::test::refusal([&] { (void)call.number(param.name); }) == "422 validation_failed";
  });
}

TEST_CASE("each parameter of a query is read as its kind says") {
  std::map<Kind, int> walked;
  for (const Route& route : routes())
    for (const auto params : params_of(route))
      for (const Param& param : params) {
        INFO(route.name << "?" << param.name);
        ++walked[param.kind];
        const auto read = [&](const Call& call) { return call.query(param.name).value(); };
        CHECK(with_parameter(route, param, id_in_capitals, read) ==
              (param.kind == Kind::uuid ? id_in_lower_case : id_in_capitals));
        const auto time = [&](const Call& call) {
          const std::string name(param.name);
          return berth::test::refusal([&] { (void)instant_query(call, name.c_str()); });
        };
        if (param.kind == Kind::time) {
          CHECK(with_parameter(route, param, "yesterday", time) == "422 validation_failed");
          CHECK(with_parameter(route, param, std::string(param.example), time) == "");
        }
        if (param.kind != Kind::integer || param.most == 0) continue;
        for (const auto value : {param.least, param.most})
          CHECK_FALSE(refuses_number(route, param, std::to_string(value)));
        for (const auto value : {param.least - 1, param.most + 1})
          CHECK(refuses_number(route, param, std::to_string(value)));
        for (const char* value : {"", "x", "1x", "+1", "1.0", " 1", "99999999999999999999"})
          CHECK(refuses_number(route, param, value));
      }
  std::cout << "parameters of queries: " << walked[Kind::text] << " texts, " << walked[Kind::uuid]
            << " ids, " << walked[Kind::integer] << " integers, " << walked[Kind::time]
            << " times\n";
  CHECK(walked[Kind::uuid] == 8);
  CHECK(walked[Kind::integer] > 75);
  CHECK(walked[Kind::time] > 10);
}

TEST_CASE("each placeholder of a path is described, and is an id unless its row says otherwise") {
  std::set<std::string_view> others;
  int walked = 0;
  for (const Route& route : routes()) {
    INFO(route.name);
    const auto names = placeholders_in(route.path());
    REQUIRE(names.size() == route.in_path.size());
    for (size_t i = 0; i < names.size(); ++i) {
      ++walked;
      if (route.in_path[i]->kind != Kind::uuid) others.insert(names[i]);
    }
  }
  std::cout << "placeholders of paths: " << walked << "\n";
  CHECK(others == std::set<std::string_view>{"client_id", "n", "name", "table_id"});
}

TEST_CASE("each operation names its command or its page, or says why there is neither") {
  int served = 0, explained = 0;
  for (const Route& route : routes()) {
    INFO(route.name);
    const ServedBy& by = route.served_by;
    const bool is_served = !by.command.empty() || !by.page.empty();
    CHECK(is_served == by.neither.empty());
    ++(is_served ? served : explained);
  }
  std::cout << "operations with a command or a page: " << served << ", without: " << explained
            << "\n";
}

TEST_CASE("any page may read only what is the same for all, and no page what is an admin's") {
  for (const Route& route : routes()) {
    INFO(route.name);
    const Access& access = route.guards.access;
    if (access.cors == Cors::any_origin) CHECK(access.kind == Access::Kind::open);
    if (access.kind == Access::Kind::internal) CHECK(access.cors == Cors::none);
  }
}

}  // namespace
