// Prices by the hour, usage and budgets, with the client against the real berthd.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;

namespace {

constexpr int wrong_usage = 2;

// A person with 1,000 points in their app, and the deployment `shop`, which costs 60 points an
// hour.
struct Metered {
  Berthd berthd;
  Person ada{berthd};

  Metered() {
    ada.settle_in("ada");
    ada.admin({"tiers", "create", "metered", "--name", "Metered", "--memory-mb", "128", "--cpu",
               "100", "--price", "0", "--price-per-hour", "60", "--auto-approve", "true"});
    ada.must({"admin", "mint", "1000", "--reason", "a test"}, "",
             {{"BERTH_INTERNAL_SECRET", berthd.internal_secret()}});
    ada.must({"deploy", "create", "shop", "--image", "docker.io/library/hello:1", "--tier",
              "metered", "--wait"});
  }
};

}  // namespace

TEST_CASE("usage tells the price of an hour, and what ran") {
  const Metered m;
  CHECK(m.ada.must({"tiers"}).out.find("POINTS AN HOUR") != std::string::npos);
  const json body = m.ada.must({"usage", "shop", "-o", "json"}).body();
  CHECK(body.at("price").at("points_per_hour") == 60);
  CHECK(body.at("totals").at("unpaid_seconds") == 0);
  const std::string text =
      m.ada.must({"usage", "shop", "--from", "2020-01-01", "--to", "2020-01-31"}).out;
  CHECK(text.find("Points for an hour of each:") != std::string::npos);
  CHECK(text.find("2020-01-01 to 2020-01-31") != std::string::npos);
  CHECK(m.ada.berth({"usage", "shop", "--from", "yesterday"}).code != 0);
}

TEST_CASE("an admin looks at a price before changing it") {
  const Metered m;
  const json seen =
      m.ada.admin({"tiers", "preview", "metered", "--price-per-hour", "90", "-o", "json"}).body();
  CHECK(seen.at("deployments") == 1);
  CHECK(seen.at("points_a_day") == json{{"now", 1440}, {"then", 2160}});
  const std::string text =
      m.ada.admin({"tiers", "preview", "metered", "--price-per-hour", "90"}).out;
  CHECK(text.find("60 now, 90 then") != std::string::npos);
  CHECK(text.find("Apps short of points") != std::string::npos);
  m.ada.admin({"tiers", "update", "metered", "--price-per-hour", "0"});
  const json all = m.ada.admin({"tiers", "list", "-o", "json"}).body();
  for (const json& tier : all.at("tiers"))
    if (tier.at("slug") == "metered") CHECK(tier.at("points_per_hour").is_null());
}

TEST_CASE("a budget is lowered freely, and raised or removed with the password") {
  const Metered m;
  CHECK(m.ada.must({"budget", "set", "4000"}).out == "The app may spend 4000 points in 30 days.\n");
  m.ada.must({"budget", "set", "3000"});
  CHECK(m.ada
            .must({"budget", "set", "500", "--deployment", "shop", "--period", "day", "--at-limit",
                   "stop_all"})
            .out == "shop may spend 500 points on a day.\n");
  CHECK(m.ada.berth({"budget", "set", "5000"}).code != 0);
  CHECK(m.ada.berth({"budget", "set", "5000", "--password-stdin"}, "a wrong password").code != 0);
  const auto limits = [&] {
    const json all = m.ada.must({"budget", "list", "-o", "json"}).body();
    json found = json::array();
    for (const json& budget : all.at("budgets")) found.push_back(budget.at("limit"));
    return found;
  };
  CHECK(limits() == json::array({3000, 500}));
  m.ada.must({"budget", "set", "5000", "--password-stdin"}, Person::password());
  CHECK(limits() == json::array({5000, 500}));
  const std::string table = m.ada.must({"budget", "list"}).out;
  CHECK(table.find("shop") != std::string::npos);
  CHECK(table.find("stop_all") != std::string::npos);
  CHECK(m.ada.berth({"budget", "remove"}).code != 0);
  m.ada.must({"budget", "remove", "--password-stdin"}, Person::password());
  CHECK(limits() == json::array({500}));
  CHECK(m.ada.berth({"budget", "set", "0"}).code == wrong_usage);
  CHECK(m.ada.berth({"budget", "set", "5", "--period", "week"}).code == wrong_usage);
}
