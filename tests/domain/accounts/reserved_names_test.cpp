// Names that nobody may register.
#include "controller/domain/accounts/reserved_names.h"

#include <catch2/catch.hpp>

#include "controller/domain/deployments/rules.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;

const ReservedNames reserved({"admin", "support", "berth", "www", "dns", "No-Reply"});

TEST_CASE("reserved usernames: the name in any case, and names that look like a longer one") {
  for (const char* taken :
       {"admin", "ADMIN", "Support", "berth", "www", "dns", "no-reply", "adm1n", "adrnin",
        "a.d.m.i.n", "_admin_", "supp0rt", "5upp.ort", "b3rth", "8erth", "noreply", "vvww"}) {
    INFO(taken);
    const bool is_short_disguise = std::string(taken) == "vvww";  // of "www", which is too short
    CHECK(reserved.forbids_name(taken) == !is_short_disguise);
  }
  for (const char* free : {"ada", "adminton", "badmin", "supporter", "berthold", "dn5", "w-w-w",
                           "adaadmin", "a", ""}) {
    INFO(free);
    CHECK_FALSE(reserved.forbids_name(free));
  }
  CHECK_FALSE(ReservedNames().forbids_name("admin"));
}

TEST_CASE("names that could pass for the platform's own are reserved, and others aren't") {
  for (const char* taken :
       {"berth",          "b\u0435rth",
        "\u042cERTH",     "BERTH",
        "b\u00e9rth",     "be\u200brth",
        "ｂｅｒｔｈ",     "berth official",
        "official.berth", "berth-team",
        "berth_2",        "The Berth",
        "b e r t h",      "ber.th official",
        "My berth",       "berthadmin",
        "teamberth",      "berth1",
        "admin1",         "admin2000",
        "1admin",         "admin team",
        "the-admin",      "Support Team 24",
        "admin.support",  "\U0001D41B\U0001D41E\U0001D42B\U0001D42D\U0001D421"}) {
    INFO(taken);
    CHECK(reserved.forbids_name(taken));
  }
  for (const char* free : {"Harbour Berths Ltd",
                           "Berthold",
                           "berthe",
                           "Albert Hall",
                           "Rebirth",
                           "My game",
                           "team",
                           "official",
                           "The Team",
                           "support-ada",
                           "Ada's support",
                           "dns1",
                           "mx5",
                           "Mail Reader",
                           "傻瓜",
                           "שלום",
                           "Порт",
                           "42",
                           "1",
                           "-"}) {
    INFO(free);
    CHECK_FALSE(reserved.forbids_name(free));
  }
  // The platform's own name doesn't depend on the list.
  CHECK(ReservedNames().forbids_name("berth team"));
}

TEST_CASE("reserved sub-domains: the name itself") {
  for (const char* taken : {"admin", "www", "no-reply"}) CHECK(reserved.forbids_subdomain(taken));
  for (const char* free : {"adm1n", "my-admin", "wwww", "noreply"})
    CHECK_FALSE(reserved.forbids_subdomain(free));
}

TEST_CASE("nobody can change to a reserved name, and whoever has one keeps it") {
  World world;
  const auto ada = world.new_user("ada"), old = world.new_user("admin");
  const auto rename = [&](const accounts::User& user, const std::string& name) {
    return details(
        [&] { world.write([&](db::Tx& tx) { accounts::rename(tx, user.id, name, reserved); }); });
  };
  for (const char* name : {"support", "Supp0rt"}) {
    const Details wrong = rename(ada, name);
    REQUIRE(wrong.contains("username"));
    CHECK(wrong.at("username").front().find("reserved") != std::string::npos);
  }
  CHECK(world.find_user(ada.id).username == "ada");
  CHECK(rename(ada, "countess").empty());
  CHECK(rename(old, "Admin").empty());
  CHECK(world.find_user(old.id).username == "Admin");
  CHECK(rename(old, "adm1n").contains("username"));
}

TEST_CASE("a new deployment with a reserved name is refused, and an existing one keeps running") {
  World world;
  const auto app = world.approved_app(world.verified_user("ada"), {Scope::deploy_manage});
  const auto old = world.deploy(app, order("www"));
  world.rules.reserved_names = reserved;
  const Details wrong = details([&] { world.deploy(app, order("support")); });
  REQUIRE(wrong.contains("name"));
  CHECK(wrong.at("name").front().find("reserved") != std::string::npos);
  CHECK(refusal([&] { world.deploy(app, order("support")); }) == "422 validation_failed");
  CHECK(refusal([&] { world.stop(app, old.id); }) == "");
  CHECK(refusal([&] { world.restart(app, old.id); }) == "");
  CHECK(refusal([&] { world.deploy(app, order("shop")); }) == "");
}

}  // namespace
