// Ads that are served and reported at the same time. On PostgreSQL these writes run side by side
// and wait for the rows that they have in common (Database::write_with_row_locks); on SQLite they
// run one after the other, with the same results.
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "tests/domain/ads/ads_world.h"

namespace {

using namespace berth;
using namespace berth::test;

struct Crowd : AdsWorld {
  static constexpr int size = 8;
  std::vector<accounts::User> viewers;
  std::mutex mutex;
  std::map<std::string, int> seen;  // how often each answer was given

  Crowd() {
    for (int i = 0; i < size; ++i)
      viewers.push_back(world.verified_user("viewer" + std::to_string(i)));
    rules.open_per_app = rules.open_per_campaign = 1'000'000;
  }

  void note(const std::string& answer) {
    const std::lock_guard lock(mutex);
    ++seen[answer];
  }
  // Runs `work` on a thread of its own for each viewer.
  void all(const std::function<void(const accounts::User&)>& work) {
    std::vector<std::jthread> threads;
    for (const accounts::User& one : viewers) threads.emplace_back([&] { work(one); });
  }
  ads::Served serve_together(const accounts::User& user) {
    index.refresh(world.db);
    return world.db.write_with_row_locks([&](db::Tx& tx) {
      return ads::serve(
          tx, index, rules,
          {.app_id = game.id, .user_id = user.id, .surface_type = ads::SurfaceType::banner});
    });
  }
  ads::Recorded record_together(const accounts::User& user, const std::string& campaign_id,
                                ads::EventType type, const std::optional<std::string>& token) {
    return world.db.write_with_row_locks([&](db::Tx& tx) {
      return ads::record(tx, rules, reward_rules,
                         {.app_id = game.id,
                          .user_id = user.id,
                          .campaign_id = campaign_id,
                          .event_type = type,
                          .surface_type = ads::SurfaceType::banner,
                          .impression_token = token});
    });
  }
  // Notes "paid", "counted", why a report isn't paid, or how the request is refused.
  void report(const accounts::User& user, const std::string& campaign_id, ads::EventType type,
              const std::optional<std::string>& token) {
    std::string answer;
    const std::string refused = refusal([&] {
      const ads::Recorded recorded = record_together(user, campaign_id, type, token);
      answer = recorded.paid ? "paid"
                             : std::string(to_string(recorded.unpaid_reason).value_or("counted"));
    });
    note(refused.empty() ? answer : refused);
  }
  void serve_and_report(const accounts::User& user) {
    std::optional<ads::Served> served;
    const std::string refused = refusal([&] { served = serve_together(user); });
    if (served)
      report(user, served->campaign.id, ads::EventType::impression, served->impression_token);
    else
      note(refused);
  }
};

TEST_CASE("ads together: a campaign is spent to the last impression, and ends once") {
  Crowd w;
  constexpr int impressions = 45;
  const auto campaign = w.new_campaign(AdsWorld::order(500, 10));  // a budget of 450
  // Some are refused before that, because an operator may only reserve a quarter of what is left.
  w.all([&](const accounts::User& user) {
    while (w.find(campaign.id).is_live()) w.serve_and_report(user);
  });
  const auto now = w.find(campaign.id);
  CHECK(w.seen["paid"] == impressions);
  w.seen.erase("404 no_ad_available");
  CHECK(w.seen.size() == 1);
  CHECK(now.status == campaigns::Status::exhausted);
  CHECK(now.spent == 450);
  CHECK(now.reserved == 0);
  CHECK(now.remaining == 0);
  CHECK(w.points(w.game) == 450);
  CHECK(now.viewer_rewards == impressions);
}

TEST_CASE("ads together: a campaign that is cancelled while it is shown keeps no points") {
  Crowd w;
  const auto campaign = w.new_campaign(AdsWorld::order(10'000, 10));
  std::atomic<int> rounds = 0;
  std::atomic<bool> is_cancelled = false;
  std::int64_t refunded = 0;
  {
    const std::jthread owner([&] {
      while (rounds < Crowd::size) std::this_thread::yield();
      refunded = w.world.db
                     .write_with_row_locks([&](db::Tx& tx) {
                       return campaigns::cancel(tx, w.actor(w.brand), campaign.id);
                     })
                     .refunded;
      is_cancelled = true;
    });
    w.all([&](const accounts::User& user) {
      for (int last = 0; last < 2; last += is_cancelled) {
        w.serve_and_report(user);
        ++rounds;
      }
    });
  }
  const auto now = w.find(campaign.id);
  CHECK(now.status == campaigns::Status::cancelled);
  CHECK(now.reserved == 0);
  CHECK(now.remaining == 0);
  CHECK(now.spent == 10 * w.seen["paid"]);
  CHECK(now.spent + refunded == now.budget);
  CHECK(now.refunded == refunded);
  CHECK(w.points(w.game) == now.spent);
  CHECK(w.points(w.brand) == refunded);
  CHECK(w.seen["503 unavailable"] == 0);
}

TEST_CASE("ads together: an impression that everybody reports is paid once, and clicked once") {
  Crowd w;
  const auto campaign = w.new_campaign();
  const auto served = w.serve();
  w.all([&](const accounts::User&) {
    w.report(w.viewer, campaign.id, ads::EventType::impression, served.impression_token);
  });
  CHECK(w.seen == std::map<std::string, int>{{"paid", 1}, {"replayed", Crowd::size - 1}});
  w.seen.clear();
  w.all([&](const accounts::User&) {
    w.report(w.viewer, campaign.id, ads::EventType::click, served.impression_token);
  });
  CHECK(w.seen == std::map<std::string, int>{{"counted", 1}, {"replayed", Crowd::size - 1}});
  CHECK(w.points(w.game) == 10);
}

TEST_CASE("ads together: a viewer's daily limit, and that of their rewards, holds") {
  Crowd w;
  w.rules.viewer_daily_impressions = 3;
  w.reward_rules.user_daily = 2;
  const auto campaign = w.new_campaign();
  std::vector<ads::Served> served;
  for (int i = 0; i < Crowd::size; ++i) {
    served.push_back(w.serve());
  }
  const std::int64_t before = w.points(w.viewer);
  std::atomic<size_t> next = 0;
  w.all([&](const accounts::User&) {
    w.report(w.viewer, campaign.id, ads::EventType::impression, served.at(next++).impression_token);
  });
  CHECK(w.seen == std::map<std::string, int>{{"paid", 3}, {"viewer_cap", Crowd::size - 3}});
  CHECK(w.points(w.viewer) == before + 2);
  CHECK(w.find(campaign.id).reserved == 0);
}

TEST_CASE("ads together: payments that come at the same time give the budget of their sum") {
  Crowd w;
  const auto campaign = w.new_campaign(AdsWorld::order(1'001, 10));
  w.fund(w.brand, 1'009 * Crowd::size);
  w.all([&](const accounts::User&) {
    w.note(refusal([&] {
      w.world.db.write_with_row_locks(
          [&](db::Tx& tx) { return campaigns::top_up(tx, w.actor(w.brand), campaign.id, 1'009); });
    }));
  });
  CHECK(w.seen == std::map<std::string, int>{{"", Crowd::size}});
  const auto now = w.find(campaign.id);
  CHECK(now.total_payment == 1'001 + 1'009 * Crowd::size);
  CHECK(now.budget == campaigns::budget_of(now.total_payment));
  CHECK(now.remaining == now.budget);
  CHECK(now.rake == now.total_payment - now.budget);
}

}  // namespace
