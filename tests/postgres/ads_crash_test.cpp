// Ads that are served and reported while the server crashes. Their rows are released before the
// disk has them (Tx::release_rows_early), so this is where an answer could be lost.
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "controller/db/postgres/connection.h"
#include "tests/domain/ads/ads_world.h"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

constexpr int viewers = 8, crashes = 3;
constexpr std::int64_t payout = 10;
constexpr auto patience = 30s;  // for all crashes

// The server forgets what it hasn't written, as if all its processes had been killed. Returns false
// if it doesn't take connections, because it is still busy with the crash before.
bool crash_server() {
  const std::string address = std::string(std::getenv("BERTH_TEST_POSTGRES")) + " dbname=postgres";
  try {
    db::postgres::Connection connection({.address = address, .password_file = {}});
    return ::kill(std::stoi(connection.text("SELECT pg_backend_pid()::text")), SIGKILL) == 0;
  } catch (const std::runtime_error&) {
    return false;
  }
}

struct Crowd : AdsWorld {
  std::mutex mutex;
  std::vector<std::string> paid;  // the answered events
  std::set<std::string> refusals;

  Crowd() { rules.open_per_app = rules.open_per_campaign = 1'000'000; }

  void serve_and_report(const accounts::User& user) {
    const std::string refused = refusal([&] {
      index.refresh(world.db);
      const ads::Served served = world.db.write_with_row_locks([&](db::Tx& tx) {
        return ads::serve(
            tx, index, rules,
            {.app_id = game.id, .user_id = user.id, .surface_type = ads::SurfaceType::banner});
      });
      const ads::Recorded recorded = world.db.write_with_row_locks([&](db::Tx& tx) {
        return ads::record(tx, rules, reward_rules,
                           {.app_id = game.id,
                            .user_id = user.id,
                            .campaign_id = served.campaign.id,
                            .event_type = ads::EventType::impression,
                            .surface_type = ads::SurfaceType::banner,
                            .impression_token = served.impression_token});
      });
      const std::lock_guard lock(mutex);
      if (recorded.paid) paid.push_back(recorded.event.id);
    });
    const std::lock_guard lock(mutex);
    refusals.insert(refused);
  }
};

TEST_CASE("crashes of the server undo no impression that was answered, and no budget is exceeded") {
  Crowd w;
  w.rules.viewer_daily_impressions = 1'000'000;
  std::vector<campaigns::Campaign> all;
  for (int i = 0; i < 2; ++i) all.push_back(w.new_campaign(AdsWorld::order(1'000'000, payout)));
  std::vector<accounts::User> users;
  for (int i = 0; i < viewers; ++i)
    users.push_back(w.world.verified_user("viewer" + std::to_string(i)));
  {
    std::vector<std::jthread> threads;
    for (const accounts::User& one : users)
      threads.emplace_back([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) w.serve_and_report(one);
      });
    const auto end = std::chrono::steady_clock::now() + patience;
    for (int crashed = 0; crashed < crashes && std::chrono::steady_clock::now() < end;) {
      std::this_thread::sleep_for(300ms);
      crashed += crash_server() ? 1 : 0;
    }
    std::this_thread::sleep_for(1s);
  }
  for (const char* one : {"", "503 unavailable", "404 no_ad_available"}) w.refusals.erase(one);
  CHECK(w.refusals.empty());
  CHECK(w.paid.size() > viewers);
  std::set<std::string> stored;
  w.world.read([&](db::Tx& tx) {
    auto rows = tx.query(R"(SELECT id FROM ad_events WHERE counted = 1)");
    while (rows.next()) stored.insert(rows.text("id"));
  });
  for (const std::string& id : w.paid) CHECK(stored.contains(id));
  std::int64_t spent = 0;
  for (const campaigns::Campaign& one : all) {
    const campaigns::Campaign now = w.find(one.id);
    CHECK(now.spent + now.reserved + now.remaining == now.budget);
    spent += now.spent;
  }
  CHECK(spent == payout * std::int64_t(stored.size()));
  CHECK(w.world.read([&](db::Tx& tx) {
    return ledger::balance(tx, ledger::app_account(w.game.id));
  }) == spent);
}

}  // namespace
}  // namespace berth::test
