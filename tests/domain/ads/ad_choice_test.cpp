#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "controller/domain/ads/choice.h"

namespace {

using namespace berth;
using namespace berth::ads;
using namespace std::chrono_literals;

const Instant start = *parse_iso8601("2026-01-31T00:00:00Z");

Choice::Campaign campaign(const std::string& id, std::int64_t payout = 10) {
  return {.id = id,
          .owner_id = "owner of " + id,
          .surface_type = SurfaceType::banner,
          .payout_rate = payout,
          .impressions = 1'000'000,
          .starts_at = start};
}

struct Fixture {
  Choice choice;
  Choice::Request request = {
      .surface_type = SurfaceType::banner, .owner_id = "somebody", .now = start};

  void put(const Choice::Campaign& one) { choice.put(one, request.now); }
  std::string shown() {
    const auto offer = choice.choose(request, [](const Choice::Offer&) { return true; });
    return offer ? offer->campaign_id : "";
  }
  std::map<std::string, int> shown(int times) {
    std::map<std::string, int> counts;
    for (int i = 0; i < times; ++i) ++counts[shown()];
    return counts;
  }
  std::string shown_to(const Viewing& seen) {
    request.viewing = seen;
    return shown();
  }
};

Viewing viewing(const std::optional<std::string>& game = {},
                const std::optional<std::string>& tier = {},
                const std::optional<std::string>& geography = {}) {
  return {game, tier, geography};
}
Audience audience(const Test& game, const Test& tier = {}, const Test& geography = {}) {
  return {game, tier, geography};
}
Test exact(const std::string& value) { return {.mode = MatchMode::exact, .value = value}; }
Test prefix(const std::string& value) { return {.mode = MatchMode::prefix, .value = value}; }

TEST_CASE("choice: ten equal campaigns get equal shares of 10,000 serves") {
  Fixture f;
  for (int i = 0; i < 10; ++i) f.put(campaign("c" + std::to_string(i)));
  const auto counts = f.shown(10'000);
  REQUIRE(counts.size() == 10);
  for (const auto& [id, count] : counts) CHECK(std::abs(count - 1'000) <= 1);
}

TEST_CASE("choice: shares follow payout and reach") {
  Fixture f;
  f.put(campaign("one", 10));
  f.put(campaign("twice", 20));
  Choice::Campaign reach = campaign("reach", 10);
  reach.reach = 1.5;
  f.put(reach);
  auto counts = f.shown(4'500);
  CHECK(std::abs(counts["one"] - 1'000) <= 2);
  CHECK(std::abs(counts["twice"] - 2'000) <= 2);
  CHECK(std::abs(counts["reach"] - 1'500) <= 2);
}

TEST_CASE("choice: a later campaign isn't compensated for what it missed") {
  Fixture f;
  f.put(campaign("old"));
  f.shown(1'000);
  f.put(campaign("new"));
  auto counts = f.shown(100);
  CHECK(std::abs(counts["old"] - 50) <= 1);
}

TEST_CASE("choice: an operator's own campaigns are used only if there is nothing else") {
  Fixture f;
  Choice::Campaign own = campaign("own", 1'000'000);
  own.owner_id = f.request.owner_id;
  f.put(own);
  CHECK(f.shown() == "own");
  f.put(campaign("other", 1));
  CHECK(f.shown(10)["other"] == 10);
  f.choice.remove("other");
  CHECK(f.shown() == "own");
}

TEST_CASE(
    "choice: a refused offer is followed by the next one, and costs the refused campaign nothing") {
  Fixture f;
  f.put(campaign("full"));
  f.put(campaign("free"));
  const auto offer = f.choice.choose(
      f.request, [](const Choice::Offer& one) { return one.campaign_id != "full"; });
  REQUIRE(offer);
  CHECK(offer->campaign_id == "free");
  CHECK(f.shown() == "full");
  f.request.skip = [](const std::string& id) { return id == "free"; };
  CHECK(f.shown(3)["full"] == 3);
}

TEST_CASE("choice: targeting is exact") {
  Fixture f;
  Choice::Campaign targeted = campaign("targeted");
  const auto fits = [&](const Audience& wanted, const Viewing& seen) {
    targeted.slots = {{.audiences = {wanted}}};
    f.put(targeted);
    return f.shown_to(seen) == "targeted";
  };
  CHECK(fits(audience({}), {}));
  CHECK(fits(audience({}), viewing("puzzle", "gold", "DE")));
  CHECK(fits(audience(exact("puzzle")), viewing("puzzle")));
  CHECK_FALSE(fits(audience(exact("puzzle")), viewing("puzzles")));
  CHECK_FALSE(fits(audience(exact("puzzle")), viewing("puzzl")));
  CHECK_FALSE(fits(audience(exact("puzzle")), viewing(std::nullopt, "puzzle")));
  CHECK_FALSE(fits(audience(exact("puzzle")), {}));
  CHECK(fits(audience({}, {}, prefix("DE")), viewing(std::nullopt, std::nullopt, "DE")));
  CHECK(fits(audience({}, {}, prefix("DE")), viewing(std::nullopt, std::nullopt, "DE-BE")));
  CHECK_FALSE(fits(audience({}, {}, prefix("DE")), viewing(std::nullopt, std::nullopt, "D")));
  CHECK_FALSE(fits(audience({}, {}, prefix("DE")), {}));
  CHECK(fits(audience(exact("puzzle"), exact("gold"), prefix("DE")),
             viewing("puzzle", "gold", "DE-BE")));
  CHECK_FALSE(fits(audience(exact("puzzle"), exact("gold"), prefix("DE")),
                   viewing("puzzle", "silver", "DE-BE")));
  // Characters with a meaning in the index have none in a value.
  CHECK_FALSE(fits(audience(exact("*")), viewing("a")));
  CHECK(fits(audience(exact("*")), viewing("*")));
  CHECK_FALSE(fits(audience(exact("^a")), viewing("ab")));
}

TEST_CASE("choice: it finds the same as a search through all campaigns") {
  Fixture f;
  const std::vector<std::string> values = {"a", "ab", "abc", "b", "ba"};
  std::vector<Choice::Campaign> all;
  std::uint32_t state = 7;
  const auto roll = [&](size_t sides) {
    state = state * 1'664'525 + 1'013'904'223;
    return size_t(state >> 16) % sides;
  };
  const auto any_test = [&]() -> Test {
    const size_t kind = roll(3);
    if (kind == 0) return {};
    return kind == 1 ? exact(values[roll(values.size())]) : prefix(values[roll(values.size())]);
  };
  for (int i = 0; i < 300; ++i) {
    Choice::Campaign one = campaign("c" + std::to_string(i));
    one.slots = {{.audiences = {audience(any_test(), any_test(), any_test())}}};
    all.push_back(one);
    f.put(one);
  }
  for (int round = 0; round < 500; ++round) {
    Viewing seen;
    for (auto& value : seen)
      if (roll(4) > 0) value = values[roll(values.size())];
    std::set<std::string> expected, found;
    for (const auto& one : all) {
      bool all_fit = true;
      for (size_t i = 0; i < seen.size(); ++i)
        all_fit = all_fit && fits(one.slots[0].audiences[0][i], seen[i]);
      if (all_fit) expected.insert(one.id);
    }
    f.request.viewing = seen;
    // Refuses all that match, one after another.
    f.request.skip = [&](const std::string& id) { return !found.insert(id).second || true; };
    CHECK(f.shown().empty());
    CHECK(found == expected);
    if (!all.empty() && roll(2) == 0) {
      f.choice.remove(all.back().id);
      all.pop_back();
    }
  }
}

TEST_CASE("choice: a campaign with placements is shown only there") {
  Fixture f;
  Choice::Campaign placed = campaign("placed");
  placed.slots = {{.campaign_placement_id = "cp1", .ad_placement_id = "p1"},
                  {.campaign_placement_id = "cp2",
                   .ad_placement_id = "p2",
                   .audiences = {audience(exact("puzzle"))}}};
  f.put(placed);
  const auto slot = [&](const std::string& placement, const Viewing& seen) {
    f.request.ad_placement_id = placement;
    f.request.viewing = seen;
    const auto offer = f.choice.choose(f.request, [](const Choice::Offer&) { return true; });
    return offer ? offer->campaign_placement_id : "none";
  };
  CHECK(slot("p1", {}) == "cp1");
  CHECK(slot("p2", {}) == "none");
  CHECK(slot("p2", viewing("puzzle")) == "cp2");
  CHECK(slot("p3", viewing("puzzle")) == "none");
  CHECK(slot("", {}) == "cp1");
  f.put(campaign("anywhere"));
  f.request.ad_placement_id = "p3";
  CHECK(f.shown() == "anywhere");
}

TEST_CASE("choice: a placement of one app is for that app, even if the request names none") {
  Fixture f;
  Choice::Campaign placed = campaign("placed");
  placed.slots = {{.campaign_placement_id = "cp", .ad_placement_id = "p", .app_id = "game"}};
  f.put(placed);
  CHECK(f.shown().empty());
  f.request.app_id = "another";
  CHECK(f.shown().empty());
  f.request.app_id = "game";
  CHECK(f.shown() == "placed");
}

TEST_CASE("choice: nothing is shown before the start, after the end or beyond the budget") {
  Fixture f;
  Choice::Campaign one = campaign("one");
  one.starts_at = start + 1h;
  one.ends_at = start + 2h;
  one.impressions = 100;
  f.put(one);
  CHECK(f.shown().empty());
  f.request.now = start + 90min;
  CHECK(f.shown() == "one");
  f.request.now = start + 2h;
  CHECK(f.shown().empty());
  one.ends_at.reset();
  one.used = 99;
  f.put(one);
  CHECK(f.shown() == "one");
  CHECK(f.shown().empty());
  one.used = 98;  // as if a reservation had been returned
  f.put(one);
  CHECK(f.shown() == "one");
}

// A day's budget that is requested far more often than it lasts. At each hour, spending is within
// 10 % of an even distribution.
TEST_CASE("choice: pacing spreads a day's budget over the day") {
  Fixture f;
  Choice::Campaign paced = campaign("paced");
  paced.impressions = 1'000;
  paced.ends_at = start + 24h;
  f.put(paced);
  const bool beside_others = GENERATE(false, true);
  if (beside_others)
    for (int i = 0; i < 20; ++i) f.put(campaign("other" + std::to_string(i)));
  int shown = 0;
  for (f.request.now = start; f.request.now < start + 24h; f.request.now += 5s) {
    if (f.shown() == "paced") ++shown;
    const double even = double((f.request.now - start).count()) / double(Duration(24h).count());
    if ((f.request.now - start) % 1h == 0s) CHECK(std::abs(shown / 1'000.0 - even) <= 0.1);
  }
  CHECK(shown >= 990);
  CHECK(shown <= 1'000);
}

TEST_CASE("choice: a campaign behind its plan counts more") {
  Fixture f;
  Choice::Campaign paced = campaign("paced");
  paced.impressions = 1'000;
  paced.ends_at = start + 24h;
  f.put(paced);
  f.put(campaign("other"));
  f.request.now = start + 23h;
  auto counts = f.shown(500);
  CHECK(std::abs(counts["paced"] - 400) <= 2);
}

}  // namespace
