#include <catch2/catch.hpp>
#include <random>

#include "controller/domain/ads/analytics.h"
#include "tests/domain/ads/ads_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

auto figures(const std::vector<ads::DayRow>& rows) {
  std::vector<std::array<std::int64_t, 4>> all;
  for (const ads::DayRow& row : rows)
    all.push_back({row.day, row.impressions, row.clicks, row.spend});
  return all;
}

void take_steps(AdsWorld& w, const std::string& campaign_id, std::mt19937& random) {
  constexpr int steps = 60;
  const auto roll = [&](int sides) { return std::uniform_int_distribution<int>(1, sides)(random); };
  for (int i = 0; i < steps; ++i) {
    const int step = roll(10);
    if (step <= 4) (void)w.refused(w.game, w.viewer);  // serves an ad if it can
    if (step <= 5) w.record(w.report(campaign_id));
    if (step == 6 || step == 7) w.record(w.report(campaign_id, ads::EventType::click));
    if (step == 8) w.world.clock.advance(7h);
    if (step == 9 && w.find(campaign_id).is_live())
      w.set_status(campaign_id, w.find(campaign_id).status == campaigns::Status::active
                                    ? campaigns::Status::paused
                                    : campaigns::Status::active);
  }
}

// Serves, reports, clicks, moves the clock and pauses in any order: for any window, the sums equal
// those of a recount, and the ledger's invariants hold.
TEST_CASE("ad analytics: a recount of the events gives the same, for any window") {
  const unsigned seed = GENERATE(range(1U, 6U));
  std::mt19937 random(seed);
  AdsWorld w;
  w.rules.viewer_daily_impressions = 4;
  const auto campaign = w.new_campaign(AdsWorld::order(300, 10));
  take_steps(w, campaign.id, random);
  const std::int64_t today = utc_day(w.world.clock.now());
  const std::int64_t first_day = utc_day(campaign.inserted_at) - 1;
  w.world.read([&](db::Tx& tx) {
    CHECK(ads::sum(ads::days(tx, campaign.id, first_day, today)).impressions > 0);
    for (std::int64_t first = first_day; first <= today; ++first)
      for (std::int64_t last = first; last <= today; ++last)
        CHECK(figures(ads::days(tx, campaign.id, first, last)) ==
              figures(ads::recounted(tx, campaign.id, first, last)));
  });
}

}  // namespace
