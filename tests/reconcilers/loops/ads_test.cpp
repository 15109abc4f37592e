#include <catch2/catch.hpp>

#include "controller/domain/ads/market.h"
#include "controller/domain/ads/upkeep.h"
#include "reconcilers/loops/loops.h"
#include "tests/domain/ads/ads_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

constexpr ads::UpkeepBatch small_batch = {.campaigns = 3, .rows = 100};

TEST_CASE("ads loop: campaigns whose time is over are ended, however many") {
  AdsWorld w;
  campaigns::Order order = AdsWorld::order();
  order.ends_at = w.world.clock.now() + 1h;
  for (int i = 0; i < 10; ++i) w.new_campaign(order);
  const auto stays = w.new_campaign();
  Round round(w.world.db);
  CHECK(ads::do_what_is_due(round, small_batch) == 0);
  w.world.clock.advance(1h);
  CHECK(ads::do_what_is_due(round, small_batch) == 10);
  CHECK(w.points(w.brand) == 10 * 900);
  CHECK(w.find(stays.id).status == campaigns::Status::active);
  const auto writes = w.world.db.writes();
  CHECK(ads::do_what_is_due(round, small_batch) == 0);
  CHECK(w.world.db.writes() == writes);
}

TEST_CASE("ads loop: reservations that weren't reported are returned, and can be served again") {
  AdsWorld w;
  w.rules.viewer_daily_impressions = 1'000;
  // The budget pays for one impression.
  const auto campaign = w.new_campaign(AdsWorld::order(12, 10));
  Round round(w.world.db);
  w.serve();
  CHECK(w.refused(w.game, w.viewer) == "404 no_ad_available");
  w.world.clock.advance(w.rules.reservation_life);
  CHECK(ads::do_what_is_due(round, small_batch) == 1);
  CHECK(w.find(campaign.id).remaining == 10);
  CHECK(w.outcome(campaign.id, ads::EventType::impression, w.serve().impression_token) == "paid");
}

TEST_CASE("ads loop: events that are old are removed") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  Round round(w.world.db);
  CHECK(w.outcome(campaign.id, ads::EventType::impression, w.serve().impression_token) == "paid");
  ads::do_what_is_due(round, small_batch);
  w.world.clock.advance(std::chrono::days(ads::events_kept_days + 1));
  ads::do_what_is_due(round, small_batch);
  CHECK(w.world.read([](db::Tx& tx) {
    return tx.number(
        "SELECT (SELECT count(*) FROM ad_events) + (SELECT count(*) FROM ad_impressions)");
  }) == 0);
}

TEST_CASE("ads loop: demand follows paid impressions, and only those of the window") {
  AdsWorld w;
  Round round(w.world.db);
  const auto rate = [&] {
    return w.world.read([](db::Tx& tx) { return ads::rate_of(tx, ads::SurfaceType::banner); });
  };
  CHECK(rate().demand == 100);
  const auto campaign = w.new_campaign();
  w.serve();
  CHECK(w.outcome(campaign.id) == "paid");
  CHECK(w.outcome(campaign.id) == "not_served");
  ads::do_what_is_due(round, small_batch);
  CHECK(rate().demand == 100);  // one of 10,000 doesn't change it
  CHECK(rate().popularity == 200);
  CHECK(rate().effective_rate() == 20);
  w.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE ad_demand_days SET impressions = 15000 WHERE surface_type = 'banner'");
  });
  ads::do_what_is_due(round, small_batch);
  CHECK(rate().demand == 250);
  CHECK(rate().effective_rate() == 50);
  w.world.clock.advance(std::chrono::days(6));
  ads::do_what_is_due(round, small_batch);
  CHECK(rate().demand == 250);
  w.world.clock.advance(std::chrono::days(1));
  ads::do_what_is_due(round, small_batch);
  CHECK(rate().demand == 100);
  CHECK(rate().popularity == 100);
}

TEST_CASE("ads loop: new campaigns are in memory after a refresh") {
  AdsWorld w;
  w.index.refresh(w.world.db);
  for (int i = 0; i < 10; ++i) w.new_campaign();
  CHECK(w.index.size() == 0);
  w.index.refresh(w.world.db);
  CHECK(w.index.size() == 10);
}

TEST_CASE("ads loop: runs by itself") {
  AdsWorld w;
  campaigns::Order order = AdsWorld::order();
  order.ends_at = w.world.clock.now() + 1h;
  const auto campaign = w.new_campaign(order);
  prometheus::Registry registry;
  reconcilers::Loops loops(w.world.db, nullptr, registry);
  Loop upkeep = ads::upkeep_loop();
  upkeep.interval = 5ms;
  loops.add(upkeep);
  loops.start();
  w.world.clock.advance(1h);
  const auto until = std::chrono::steady_clock::now() + 30s;
  while (w.find(campaign.id).status == campaigns::Status::active &&
         std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(5ms);
  CHECK(w.find(campaign.id).status == campaigns::Status::cancelled);
  loops.stop();
}

}  // namespace
