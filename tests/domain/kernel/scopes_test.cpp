#include "controller/domain/kernel/scopes.h"

#include <catch2/catch.hpp>

namespace {

using namespace berth;

TEST_CASE("the nine scopes of the specification and those of berth, two of them automatic") {
  CHECK(all_scopes().size() == 13);
  CHECK(ScopeSet::automatic().text() == "profile:read points:read");
  CHECK(ScopeSet::identity().text() == "openid profile email");
  CHECK(ScopeSet::operators().text() ==
        "deploy:manage campaigns:manage campaign:write deploy:exec");
  for (const ScopeInfo& row : all_scopes()) {
    CHECK(parse_scope(row.name) == row.scope);
    CHECK(&info(row.scope) == &row);
  }
}

TEST_CASE("scopes are separated by spaces or pluses") {
  const ScopeSet both = {Scope::points_read, Scope::profile_read};
  for (const char* text :
       {"profile:read points:read", "points:read+profile:read", " profile:read  points:read+",
        "profile:read profile:read points:read"}) {
    INFO(text);
    CHECK(parse_scopes(text) == both);
  }
  CHECK(parse_scopes(std::vector<std::string>{"points:read", "profile:read"}) == both);
}

TEST_CASE("no scope, or an unknown one, is refused") {
  for (const char* text : {"", " ", "+", "admin", "profile:read admin", "PROFILE:READ",
                           "profile:read,points:read", "profile:read\tpoints:read"}) {
    INFO(text);
    CHECK_FALSE(parse_scopes(text));
  }
  CHECK_FALSE(parse_scopes(std::vector<std::string>{}));
  CHECK_FALSE(parse_scopes(std::vector<std::string>{"profile:read points:read"}));
  CHECK(stored_scopes("").empty());
}

TEST_CASE("sets of scopes are sets") {
  const ScopeSet a = {Scope::profile_read, Scope::deploy_manage},
                 b = {Scope::deploy_manage, Scope::points_spend};
  CHECK((a | b).text() == "profile:read points:spend deploy:manage");
  CHECK((a & b).text() == "deploy:manage");
  CHECK((a - b).text() == "profile:read");
  CHECK((a & b).within(a));
  CHECK_FALSE(a.within(b));
  CHECK(ScopeSet().within(a));
}

}  // namespace
