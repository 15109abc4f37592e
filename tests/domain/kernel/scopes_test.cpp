#include "controller/domain/kernel/scopes.h"

#include <catch2/catch.hpp>

namespace {

using namespace berth;

TEST_CASE("the nine scopes of the specification and berth's own, two of them automatic") {
  CHECK(all_scopes().size() == 16);
  CHECK(ScopeSet::automatic().text() == "profile:read points:read");
  CHECK(ScopeSet::identity().text() == "openid profile email");
  CHECK(ScopeSet::operators().text() ==
        "deploy:manage campaigns:manage campaign:write deploy:exec deploy:read deploy:write "
        "logs:read");
  for (const ScopeInfo& row : all_scopes()) {
    CHECK(parse_scope(row.name) == row.scope);
    CHECK(&info(row.scope) == &row);
  }
}

TEST_CASE("the scope admin is for personal access tokens alone") {
  for (const ScopeInfo& row : all_scopes()) CHECK(row.scope != Scope::admin);
  CHECK_FALSE(parse_scope("admin"));
  CHECK_FALSE(parse_scopes("admin"));
  CHECK_FALSE(parse_scopes(std::vector<std::string>{"admin"}));
  CHECK(why_no_scopes("admin").find("admin isn't a scope") != std::string::npos);
  const ScopeSet both = {Scope::admin, Scope::points_read};
  CHECK(parse_personal_scopes({"admin", "points:read"}) == both);
  CHECK_FALSE(parse_personal_scopes({"root"}));
  CHECK(both.text() == "points:read admin");
  CHECK(stored_scopes(both.text()) == both);
  CHECK_FALSE((ScopeSet::automatic() | ScopeSet::operators()).has(Scope::admin));
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

TEST_CASE("deploy:manage includes its three parts, and not deploy:exec") {
  const ScopeSet whole = {Scope::deploy_manage};
  for (const ScopeInfo& row : all_scopes()) {
    INFO(row.name);
    const bool is_part = row.scope == Scope::deploy_manage || row.scope == Scope::deploy_read ||
                         row.scope == Scope::deploy_write || row.scope == Scope::logs_read;
    CHECK(whole.grants(row.scope) == is_part);
    CHECK(ScopeSet{row.scope}.grants(row.scope));
    if (row.scope != Scope::deploy_manage)
      CHECK_FALSE(ScopeSet{row.scope}.grants(Scope::deploy_manage));
  }
  CHECK(whole.with_included().text() == "deploy:manage deploy:read deploy:write logs:read");
}

TEST_CASE("scopes are cut to what may be used, and parts are only named where the whole is gone") {
  const ScopeSet whole = {Scope::deploy_manage}, reads = {Scope::deploy_read},
                 both = {Scope::deploy_manage, Scope::deploy_read},
                 others = {Scope::profile_read, Scope::deploy_write};
  CHECK(whole.cut_to(whole) == whole);
  CHECK(whole.cut_to(both) == whole);
  CHECK(both.cut_to(whole) == both);
  CHECK(reads.cut_to(whole) == reads);
  CHECK(whole.cut_to(reads) == reads);
  CHECK(reads.cut_to(others).empty());
  CHECK(whole.cut_to(others) == ScopeSet{Scope::deploy_write});
  CHECK(others.cut_to(whole) == ScopeSet{Scope::deploy_write});
}

TEST_CASE("taking a part of deploy:manage away leaves the other parts") {
  const ScopeSet whole = {Scope::profile_read, Scope::deploy_manage};
  CHECK(whole.without({Scope::deploy_write}).text() == "profile:read deploy:read logs:read");
  CHECK(whole.without({Scope::deploy_manage}).text() == "profile:read");
  CHECK(whole.without({Scope::deploy_exec}) == whole);
  CHECK(ScopeSet{Scope::deploy_read}.without({Scope::deploy_read}).empty());
}

}  // namespace
