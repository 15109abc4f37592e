#include "controller/domain/social/user_search.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/social/blocks.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;

struct Fixture {
  World world;
  accounts::User me = world.new_user("Searcher");

  std::string search(const std::string& query) { return search(me, query); }
  std::string search(const accounts::User& user, const std::string& query) {
    return world.read([&](db::Tx& tx) {
      std::string names;
      for (const auto& found : user_search::search(tx, user.id, query))
        names += (names.empty() ? "" : " ") + found.username;
      return names;
    });
  }
};

TEST_CASE("names that begin with the query come first, then those that contain it") {
  Fixture f;
  for (const char* name : {"Hannah", "anna", "ANNabel", "susanne", "joanna", "bob"}) {
    f.world.clock.advance(std::chrono::milliseconds(1));  // similar names come in this order
    f.world.new_user(name);
  }
  CHECK(f.search("ann") == "anna ANNabel joanna Hannah susanne");
  CHECK(f.search("ANN") == "anna ANNabel joanna Hannah susanne");
  CHECK(f.search("annab") == "ANNabel");
  CHECK(f.search("nn") == "anna joanna ANNabel Hannah susanne");
  CHECK(f.search("anne") == "susanne");
  CHECK(f.search("xyz").empty());
}

TEST_CASE("a name that contains the query more than once is found once") {
  Fixture f;
  f.world.new_user("abababab");
  CHECK(f.search("ab") == "abababab");
  CHECK(f.search("ba") == "abababab");
}

TEST_CASE("a query has at least two characters of any kind") {
  Fixture f;
  const auto refused = [&](const std::string& query) { return refusal([&] { f.search(query); }); };
  CHECK(refused("") == "400 query_too_short");
  CHECK(refused("a") == "400 query_too_short");
  CHECK(refused("é") == "400 query_too_short");
  for (const std::string query : {"éé", "%%", "__", "a%", "\" OR", "aa'", "\x7f\x7f"}) {
    CHECK(refused(query) == "");
    CHECK(f.search(query).empty());
  }
  CHECK(refused(std::string(10'000, 'a')) == "");
}

TEST_CASE("dots, dashes and underscores count as letters") {
  Fixture f;
  f.world.new_user("a_b.c-d");
  f.world.new_user("axbxcxd");
  CHECK(f.search("a_b") == "a_b.c-d");
  CHECK(f.search("b.c") == "a_b.c-d");
  CHECK(f.search("-d") == "a_b.c-d");
}

TEST_CASE("at most twenty names are found") {
  Fixture f;
  for (int i = 10; i < 40; ++i) f.world.new_user("user" + std::to_string(i));
  const auto count = [](const std::string& names) { return std::ranges::count(names, ' ') + 1; };
  CHECK(count(f.search("user")) == 20);
  CHECK(count(f.search("ser")) == 20);
  CHECK(f.search("user39") == "user39");
}

TEST_CASE("the user, blocked, suspended and deleted users aren't found") {
  Fixture f;
  const auto anna = f.world.new_user("anna");
  const auto annabel = f.world.new_user("annabel");
  const auto hannah = f.world.new_user("hannah");
  const auto joanna = f.world.new_user("joanna");
  CHECK(f.search(anna, "ann") == "annabel joanna hannah");
  CHECK(f.search(anna, "search") == "Searcher");
  f.world.write([&](db::Tx& tx) {
    blocks::add(tx, anna.id, joanna.id);
    blocks::add(tx, annabel.id, anna.id);
  });
  CHECK(f.search(anna, "ann") == "hannah");
  CHECK(f.search(annabel, "ann") == "joanna hannah");
  CHECK(f.search(joanna, "ann") == "annabel hannah");
  f.world.write([&](db::Tx& tx) {
    accounts::suspend(tx, hannah.id, "root", f.world.keys);
    accounts::delete_account(tx, annabel, f.world.keys);
  });
  CHECK(f.search("ann") == "anna joanna");
  CHECK(f.search("deleted").empty());
  CHECK(f.search("eleted").empty());
  f.world.write([&](db::Tx& tx) { accounts::reactivate(tx, hannah.id, "root"); });
  CHECK(f.search("ann") == "anna joanna hannah");
}

TEST_CASE("a new name is found, the old one isn't") {
  Fixture f;
  const auto user = f.world.new_user("before");
  f.world.write([&](db::Tx& tx) { accounts::rename(tx, user.id, "Afterwards", {}); });
  CHECK(f.search("efore").empty());
  CHECK(f.search("be").empty());
  CHECK(f.search("terw") == "Afterwards");
  CHECK(f.search("aft") == "Afterwards");
  f.world.write([&](db::Tx& tx) { accounts::rename(tx, user.id, "afterWARDS", {}); });
  CHECK(f.search("aft") == "afterWARDS");
  CHECK(f.search("terw") == "afterWARDS");
}

TEST_CASE("whatever the query is, the results contain it") {
  Fixture f;
  std::vector<std::string> names;
  const std::string alphabet = "abAB.";
  for (int i = 0; i < 40; ++i) {
    std::string name;
    for (int rest = i + 7; rest > 0; rest /= 5) name += alphabet[size_t(rest % 5)];
    if (name.size() < 2) continue;
    try {
      f.world.new_user(name);
      names.push_back(name);
    } catch (const Error&) {  // the same name in other upper and lower case
    }
  }
  const auto lower = [](std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  };
  CHECK(rc::check("found are those that have it", [&] {
    const auto query =
        *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(alphabet)));
    if (query.size() < 2) return;
    std::vector<std::string> expected;
    for (const std::string& name : names)
      if (lower(name).find(lower(query)) != std::string::npos) expected.push_back(name);
    const auto found =
        f.world.read([&](db::Tx& tx) { return user_search::search(tx, f.me.id, query); });
    RC_ASSERT(found.size() == std::min(expected.size(), user_search::max_results));
    bool prefixes = true;
    for (const auto& one : found) {
      RC_ASSERT(std::ranges::find(expected, one.username) != expected.end());
      const bool begins = lower(one.username).starts_with(lower(query));
      RC_ASSERT(prefixes || !begins);
      prefixes = begins;
    }
  }));
}

}  // namespace
