#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <thread>

#include "controller/domain/ads/events.h"
#include "controller/domain/ledger/holds.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "tests/domain/ads/ads_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

TEST_CASE("ad events: an impression pays the app, and the viewer") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  const auto served = w.serve();
  CHECK(served.campaign.id == campaign.id);
  CHECK(served.expires_at == w.world.clock.now() + w.rules.reservation_life);
  CHECK(w.find(campaign.id).reserved == 10);
  CHECK(w.find(campaign.id).remaining == 890);
  w.audit();
  const std::int64_t before = w.points(w.viewer);
  const auto recorded =
      w.record(w.report(campaign.id, ads::EventType::impression, served.impression_token));
  CHECK(recorded.paid);
  CHECK_FALSE(recorded.unpaid_reason);
  CHECK(recorded.viewer_reward == 1);
  CHECK(recorded.event.payout_rate_snapshot == 10);
  CHECK(w.points(w.game) == 10);
  CHECK(w.points(w.viewer) == before + 1);
  CHECK(w.find(campaign.id).spent == 10);
  CHECK(w.find(campaign.id).reserved == 0);
}

TEST_CASE("ad events: without a token the newest open reservation is used") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  w.serve();
  w.serve();
  CHECK(w.outcome(campaign.id) == "paid");
  CHECK(w.outcome(campaign.id) == "paid");
  CHECK(w.outcome(campaign.id) == "not_served");
  CHECK(w.points(w.game) == 20);
}

TEST_CASE("ad abuse: replaying a token a hundred times pays once") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  const auto served = w.serve();
  std::map<std::string, int> outcomes;
  for (int i = 0; i < 100; ++i)
    ++outcomes[w.outcome(campaign.id, ads::EventType::impression, served.impression_token)];
  CHECK(outcomes == std::map<std::string, int>{{"paid", 1}, {"replayed", 99}});
  CHECK(w.points(w.game) == 10);
}

TEST_CASE("ad abuse: a token works only for its app, user and campaign") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  const auto served = w.serve();
  const auto other_campaign = w.new_campaign();
  ads::Report report = w.report(campaign.id, ads::EventType::impression, served.impression_token);
  report.app_id = w.world.new_app(w.publisher).app.id;
  CHECK(w.outcome(report) == "foreign_token");
  report.event_type = ads::EventType::click;
  CHECK(w.outcome(report) == "foreign_token");
  report = w.report(campaign.id, ads::EventType::impression, served.impression_token);
  report.user_id = w.publisher.id;
  CHECK(w.outcome(report) == "foreign_token");
  CHECK(w.outcome(other_campaign.id, ads::EventType::impression, served.impression_token) ==
        "foreign_token");
  CHECK(w.points(w.game) == 0);
  CHECK(w.outcome(campaign.id, ads::EventType::impression, served.impression_token) == "paid");
}

TEST_CASE("ad abuse: impressions that were never served aren't paid") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  CHECK(w.outcome(campaign.id) == "not_served");
  CHECK(w.outcome(campaign.id, ads::EventType::impression, "imp_made_up") == "not_served");
  CHECK(w.points(w.game) == 0);
  CHECK(refusal([&] { w.outcome(w.game.id); }) == "404 campaign_not_found");
}

TEST_CASE("ad abuse: an owner's own campaign pays from their own budget, without a reward") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  const auto own_game = w.world.new_app(w.advertiser).app;
  const std::int64_t before = w.points(w.viewer);
  ads::Report report = w.report(campaign.id);
  report.app_id = own_game.id;
  SECTION("unserved") {
    CHECK(w.outcome(report) == "paid");
    report.event_type = ads::EventType::click;
    CHECK(w.outcome(report) == "counted");
  }
  SECTION("served, as nothing else fits") {
    report.impression_token = w.serve(own_game, w.viewer).impression_token;
    CHECK(w.outcome(report) == "paid");
  }
  CHECK(w.points(own_game) == 10);
  CHECK(w.points(w.viewer) == before);
  CHECK(w.world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM ad_demand_days"); }) ==
        0);
  // Another owner's campaign is preferred, however little it pays.
  w.fund(w.game, 20);
  const auto other = w.create(w.game, AdsWorld::order(20, 1));
  CHECK(w.serve(own_game, w.viewer).campaign.id == other.id);
}

TEST_CASE("ad abuse: a viewer's token can't use up the campaigns of the app's own owner") {
  AdsWorld w;
  w.rules.viewer_daily_impressions = 3;
  const auto campaign = w.new_campaign();
  const auto own_game = w.world.new_app(w.advertiser).app;
  ads::Report report = w.report(campaign.id);
  report.app_id = own_game.id;
  SECTION("by reports of what was never served") {
    for (int i = 0; i < 3; ++i) CHECK(w.outcome(report) == "paid");
    CHECK(w.outcome(report) == "viewer_cap");
  }
  SECTION("by reports of what was served before the cap was reached") {
    std::vector<std::string> tokens;
    for (int i = 0; i < 4; ++i) tokens.push_back(w.serve(own_game, w.viewer).impression_token);
    for (int i = 0; i < 3; ++i) {
      report.impression_token = tokens[size_t(i)];
      CHECK(w.outcome(report) == "paid");
    }
    report.impression_token = tokens[3];
    CHECK(w.outcome(report) == "viewer_cap");
  }
  CHECK(w.points(own_game) == 30);
  // Another viewer, and another day, have counts of their own.
  report.impression_token = {};
  report.user_id = w.publisher.id;
  CHECK(w.outcome(report) == "paid");
  report.user_id = w.viewer.id;
  w.world.clock.advance(std::chrono::hours(24));
  CHECK(w.outcome(report) == "paid");
}

TEST_CASE("ad abuse: a click needs a paid impression, and counts once") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  CHECK(w.outcome(campaign.id, ads::EventType::click) == "no_impression");
  const auto served = w.serve();
  CHECK(w.outcome(campaign.id, ads::EventType::click, served.impression_token) == "no_impression");
  CHECK(w.outcome(campaign.id, ads::EventType::impression, served.impression_token) == "paid");
  CHECK(w.outcome(campaign.id, ads::EventType::click, served.impression_token) == "counted");
  CHECK(w.outcome(campaign.id, ads::EventType::click, served.impression_token) == "replayed");
  CHECK(w.outcome(campaign.id, ads::EventType::click) == "replayed");
  w.serve();
  CHECK(w.outcome(campaign.id) == "paid");
  CHECK(w.outcome(campaign.id, ads::EventType::click) == "counted");
  CHECK(w.points(w.game) == 20);
}

TEST_CASE("ad abuse: one viewer's impressions are paid up to the daily limit") {
  AdsWorld w;
  w.rules.viewer_daily_impressions = 5;
  const auto campaign = w.new_campaign();
  std::vector<std::string> tokens;
  for (int i = 0; i < 7; ++i) tokens.push_back(w.serve().impression_token);
  std::map<std::string, int> outcomes;
  for (const auto& token : tokens)
    ++outcomes[w.outcome(campaign.id, ads::EventType::impression, token)];
  CHECK(outcomes == std::map<std::string, int>{{"paid", 5}, {"viewer_cap", 2}});
  CHECK(w.find(campaign.id).reserved == 0);  // reservations that aren't paid are returned
  CHECK(w.refused(w.game, w.viewer) == "404 no_ad_available");
  CHECK(w.serve(w.game, w.publisher).campaign.id == campaign.id);
  w.world.clock.advance(24h);
  CHECK(w.serve().campaign.id == campaign.id);
}

TEST_CASE("ad abuse: an expired reservation isn't paid, whether or not the loop has run") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  const auto served = w.serve();
  w.world.clock.advance(w.rules.reservation_life);
  const bool swept = GENERATE(false, true);
  if (swept) w.world.write([](db::Tx& tx) { return holds::expire(tx, 10); });
  CHECK(w.outcome(campaign.id, ads::EventType::impression, served.impression_token) == "expired");
  CHECK(w.outcome(campaign.id) == "not_served");
  CHECK(w.points(w.game) == 0);
}

TEST_CASE(
    "ad abuse: nothing is paid after a cancellation; during a pause, served impressions are") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  const auto one = w.serve();
  const auto two = w.serve();
  w.set_status(campaign.id, campaigns::Status::paused);
  CHECK(w.outcome(campaign.id, ads::EventType::impression, one.impression_token) == "paid");
  w.cancel(campaign.id);
  CHECK(w.outcome(campaign.id, ads::EventType::impression, two.impression_token) ==
        "campaign_not_active");
  CHECK(w.outcome(campaign.id) == "campaign_not_active");
  CHECK(w.points(w.game) == 10);
  CHECK(w.points(w.brand) == 890);
}

TEST_CASE("ad abuse: ends_at between serve and event") {
  AdsWorld w;
  campaigns::Order order = AdsWorld::order();
  order.ends_at = w.world.clock.now() + 1min;
  const auto campaign = w.new_campaign(order);
  const auto served = w.serve();
  w.world.clock.advance(1min);
  CHECK(w.outcome(campaign.id, ads::EventType::impression, served.impression_token) ==
        "campaign_not_active");
  CHECK(w.points(w.game) == 0);
}

TEST_CASE("ad abuse: serving without reporting locks at most a quarter of a budget") {
  AdsWorld w;
  const auto campaign = w.new_campaign();  // the budget pays for 90 impressions
  int reserved = 0;
  while (w.refused(w.game, w.viewer).empty()) ++reserved;
  CHECK(reserved == 22);
  CHECK(w.find(campaign.id).reserved == 220);
  // Other campaigns aren't affected.
  const auto other = w.world.new_app(w.viewer).app;
  CHECK(w.serve(other, w.publisher).campaign.id == campaign.id);
  w.world.clock.advance(w.rules.reservation_life);
  CHECK(w.serve().campaign.id == campaign.id);
}

TEST_CASE("ad abuse: several apps of one owner together lock at most a quarter of a budget") {
  AdsWorld w;
  const auto campaign = w.new_campaign();  // the budget pays for 90 impressions
  constexpr int apps = 4;
  int reserved = 0;
  for (int i = 0; i < apps; ++i) {
    const auto app = w.world.new_app(w.publisher).app;
    while (w.refused(app, w.viewer).empty()) ++reserved;
  }
  CHECK(reserved == 22);
  CHECK(w.find(campaign.id).reserved == 220);
  const auto other = w.world.new_app(w.viewer).app;
  CHECK(w.serve(other, w.publisher).campaign.id == campaign.id);
}

TEST_CASE("ad abuse: the reservations of an app and of a campaign are limited") {
  AdsWorld w;
  w.rules.open_per_app = 3;
  w.rules.open_per_campaign = 5;
  w.new_campaign(AdsWorld::order(100'000));
  const auto other = w.world.new_app(w.viewer).app;
  const auto third = w.world.new_app(w.viewer).app;
  const auto served = [&](const apps::App& app) {
    int count = 0;
    while (w.refused(app, w.viewer).empty()) ++count;
    return count;
  };
  CHECK(served(w.game) == 3);
  CHECK(served(other) == 2);
  CHECK(served(third) == 0);
}

TEST_CASE("ads: campaigns without room for an app don't hide the one that has room") {
  AdsWorld w;
  constexpr int full = 200;
  // They pay well and come first; each has room for two reservations by one app.
  for (int i = 0; i < full; ++i) w.new_campaign(AdsWorld::order(1'000, 100));
  const auto roomy = w.new_campaign(AdsWorld::order(10'000, 1));
  int of_roomy = 0;
  for (int i = 0; i < 2 * full + 20; ++i)
    if (w.serve().campaign.id == roomy.id) ++of_roomy;
  CHECK(of_roomy == 20);
}

TEST_CASE("ads: viewers' rewards never exceed the campaign's rake") {
  AdsWorld w;
  const auto campaign = w.new_campaign(AdsWorld::order(30, 1));  // 27 impressions, and a rake of 3
  std::int64_t rewarded = 0;
  for (int i = 0; i < 27; ++i) {
    w.serve();
    rewarded += w.record(w.report(campaign.id)).viewer_reward;
  }
  CHECK(rewarded == 3);
  CHECK(w.find(campaign.id).viewer_rewards == 3);
  CHECK(w.find(campaign.id).status == campaigns::Status::exhausted);
}

TEST_CASE("ads: if the treasury can't pay the viewer's reward, the app is still paid") {
  AdsWorld w;
  w.reward_rules.user_daily = 1;
  const auto campaign = w.new_campaign();
  for (const std::int64_t reward : {1, 0}) {
    w.serve();
    const auto recorded = w.record(w.report(campaign.id));
    CHECK(recorded.paid);
    CHECK(recorded.viewer_reward == reward);
  }
  CHECK(w.find(campaign.id).viewer_rewards == 1);
}

ads::Viewing viewing(const std::string& game, const std::optional<std::string>& tier = {},
                     const std::optional<std::string>& geography = {}) {
  return {game, tier, geography};
}

TEST_CASE("ads: targeting uses what the app says about the viewer") {
  AdsWorld w;
  campaigns::Order order = AdsWorld::order();
  order.targeting_metadata = R"({"geography": ["DE", "AT"], "game_type": "puzzle", "color": 7})";
  const auto campaign = w.new_campaign(order);
  CHECK(w.refused(w.game, w.viewer) == "404 no_ad_available");
  CHECK(w.refused(w.game, w.viewer, viewing("puzzle")) == "404 no_ad_available");
  CHECK(w.refused(w.game, w.viewer, viewing("puzzle", std::nullopt, "CH")) ==
        "404 no_ad_available");
  CHECK(w.serve(w.game, w.viewer, viewing("puzzle", std::nullopt, "AT")).campaign.id ==
        campaign.id);
  CHECK(w.serve(w.game, w.viewer, viewing("puzzle", "gold", "DE")).campaign.id == campaign.id);
}

TEST_CASE("ads: a start in the past doesn't put a campaign behind its plan") {
  AdsWorld w;
  campaigns::Order order = AdsWorld::order(1'000, 1);  // 900 impressions
  order.starts_at = w.world.clock.now() - 24h * 365;
  order.ends_at = w.world.clock.now() + 24h;
  w.new_campaign(order);
  int shown = 0;
  for (; w.refused(w.game, w.viewer).empty(); ++shown) CHECK(shown < 45);
  CHECK(shown == 45);  // 5 % ahead of an even day that begins now
}

TEST_CASE("ads: a tier's new reach applies at once") {
  AdsWorld w;
  for (int i = 0; i < 2; ++i) w.new_campaign(AdsWorld::order(1'000'000, 10));
  const auto promoted = w.world.new_app(w.advertiser).app;
  w.world.write([&](db::Tx& tx) { apps::promote(tx, promoted.id, "basic", "admin"); });
  w.fund(promoted, 1'000'000);
  const auto favoured = w.create(promoted, AdsWorld::order(1'000'000, 10));
  const auto shown = [&] {
    int count = 0;
    for (int i = 0; i < 60; ++i) {
      const auto served = w.serve();
      if (served.campaign.id == favoured.id) ++count;
      w.record(w.report(served.campaign.id));
    }
    return count;
  };
  const auto set_reach = [&](const std::string& reach) {
    w.world.write([&](db::Tx& tx) {
      tiers::Tier tier = *tiers::find_by_slug(tx, "basic");
      tier.ad_reach_multiplier = reach;
      tiers::update(tx, tier);
    });
  };
  set_reach("1");
  CHECK(shown() == 20);
  set_reach("4");
  CHECK(shown() == 40);
}

TEST_CASE("ads: campaigns of a suspended app or owner aren't shown; served impressions are paid") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  const bool by_owner = GENERATE(false, true);
  const auto served = w.serve();
  w.world.write([&](db::Tx& tx) {
    if (by_owner)
      accounts::suspend(tx, w.advertiser.id, "admin", w.world.keys);
    else
      apps::suspend(tx, w.brand.id, "admin");
  });
  CHECK(w.refused(w.game, w.viewer) == "404 no_ad_available");
  ads::CampaignIndex fresh;
  fresh.refresh(w.world.db);
  CHECK(fresh.size() == 0);
  CHECK(w.outcome(campaign.id, ads::EventType::impression, served.impression_token) == "paid");
  w.world.write([&](db::Tx& tx) {
    if (by_owner)
      accounts::reactivate(tx, w.advertiser.id, "admin");
    else
      apps::reactivate(tx, w.brand.id, "admin");
  });
  CHECK(w.serve().campaign.id == campaign.id);
}

TEST_CASE("ads: after notices may have been lost, campaigns that began and ended are known") {
  AdsWorld w;
  ads::CampaignIndex deaf;  // hears of no commit
  const auto ends = w.new_campaign();
  deaf.refresh(w.world.db);
  REQUIRE(deaf.size() == 1);
  w.set_status(ends.id, campaigns::Status::paused);
  deaf.refresh(w.world.db);
  CHECK(deaf.size() == 1);
  deaf.any_changed();
  deaf.refresh(w.world.db);
  CHECK(deaf.size() == 0);
  w.new_campaign();
  w.new_campaign();
  deaf.any_changed();
  deaf.refresh(w.world.db);
  CHECK(deaf.size() == 2);
}

TEST_CASE("ads: every refresh sees what was committed, even while others refresh") {
  AdsWorld w;
  constexpr int rounds = 20, askers = 8;
  for (int round = 0; round < rounds; ++round) {
    ads::CampaignIndex fresh;
    const auto campaign = w.new_campaign(AdsWorld::order(10'000, 1));
    std::atomic<int> found = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < askers; ++i)
      threads.emplace_back([&] {
        fresh.refresh(w.world.db);
        if (fresh.size() > 0) ++found;
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(found == askers);
    w.cancel(campaign.id);
  }
}

TEST_CASE("ads: old events go with what was served, and their days stay") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  const auto rows = [&](const std::string& table) {
    return w.world.read([&](db::Tx& tx) { return tx.number("SELECT count(*) FROM " + table); });
  };
  const auto remove = [&](int limit) {
    return w.world.write([&](db::Tx& tx) { return ads::remove_old_events(tx, limit); });
  };
  const auto is_any_old = [&] {
    return w.world.read([](db::Tx& tx) { return ads::is_any_event_old(tx); });
  };
  const auto served = w.serve();
  CHECK(w.outcome(campaign.id, ads::EventType::impression, served.impression_token) == "paid");
  CHECK(w.outcome(campaign.id, ads::EventType::impression, served.impression_token) == "replayed");
  w.world.clock.advance(std::chrono::days(ads::events_kept_days));
  CHECK_FALSE(is_any_old());
  // Younger than its impression.
  CHECK(w.outcome(campaign.id, ads::EventType::click, served.impression_token) == "counted");
  w.world.clock.advance(std::chrono::days(1));
  CHECK(is_any_old());
  CHECK(remove(1) == 1);
  CHECK(rows("ad_impressions") == 1);
  w.audit();  // in the middle of a removal, too
  CHECK(remove(100) == 2);
  CHECK_FALSE(is_any_old());
  CHECK(rows("ad_events") == 1);
  CHECK(rows("ad_impressions") == 0);
  CHECK(rows("ad_days") == 2);
  CHECK(w.find(campaign.id).spent == 10);
  CHECK(w.outcome(campaign.id, ads::EventType::click) == "no_impression");
}

TEST_CASE("ads: a day whose events are kept is compared with them, and an older one isn't") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  const auto show = [&] {
    CHECK(w.outcome(campaign.id, ads::EventType::impression, w.serve().impression_token) == "paid");
  };
  show();
  w.world.clock.advance(std::chrono::days(ads::events_kept_days + 1));
  show();
  w.world.write([](db::Tx& tx) { ads::remove_old_events(tx, 100); });
  const auto broken = [&] {
    std::int64_t count = 0;
    for (const auto& check : w.world.read([](db::Tx& tx) { return ledger::audit(tx); }))
      if (!check.ok) ++count;
    return count;
  };
  CHECK(broken() == 0);
  const auto click = [&](int number) {
    w.world.write([&](db::Tx& tx) {
      tx.execute("UPDATE ad_days SET clicks = $1 WHERE day = $2", number, utc_day(tx.now()));
    });
  };
  click(1);
  CHECK(broken() == 1);
  click(0);
}

TEST_CASE("ads: a rebuilt index matches the tables") {
  AdsWorld w;
  const auto active = w.new_campaign();
  const auto paused = w.new_campaign();
  w.set_status(paused.id, campaigns::Status::paused);
  w.cancel(w.new_campaign().id);
  ads::CampaignIndex fresh;
  fresh.refresh(w.world.db);
  CHECK(fresh.size() == 1);
  w.index.refresh(w.world.db);
  CHECK(w.index.size() == 1);
  CHECK(w.serve().campaign.id == active.id);
}

}  // namespace
