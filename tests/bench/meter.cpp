// What it costs to meter deployments that run all the time, as a table:
// bench_meter FOLDER [DEPLOYMENTS [DAYS]]. It leaves the database in the folder. The clock is moved
// a second at a time, and the metering loop's functions are called as often as the loop calls them.
// Billing has nothing to do: the tier has no price for 30 days.
#include "controller/domain/deployments/metering/meter.h"

#include <ctime>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "controller/db/sqlite/database.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/webhooks/app_events.h"
#include "tests/bench/people.h"

using namespace berth;
namespace fs = std::filesystem;

namespace {

constexpr int usual_deployments = 10'000;
constexpr int usual_days = 7;
constexpr int deployments_of_app = 20;
constexpr std::int64_t points_per_hour = 7;
constexpr std::int64_t points_of_app = 10'000'000;
constexpr int apps_of_round = 50;                    // as the loop takes them
constexpr Duration round = std::chrono::seconds(1);  // of the loop
constexpr Duration clean_up_interval = std::chrono::hours(1);
constexpr int rows_at_once = 200;
constexpr double most_cpu = 2, most_disk = 60;  // the goals: % of a core, MB in 30 days

class Platform {
 public:
  Platform(const fs::path& file, int deployments)
      : file_(file),
        clock_(Clock::standing_at(parse_iso8601("2026-01-01T00:00:00Z").value())),
        database_(file, clock_) {
    database_.write([&](db::Tx& tx) {
      ledger::open_account(tx, ledger::treasury());
      ledger::open_account(tx, ledger::issuance());
      tiers::create(tx, {.id = {},
                         .name = "Hourly",
                         .slug = "hourly",
                         .description = "",
                         .monthly_cost_points = 0,
                         .monthly_cost_sats = {},
                         .memory_limit_mb = 256,
                         .cpu_limit_millicores = 250,
                         .max_deployments = {},
                         .auto_approve = true,
                         .points_per_hour = points_per_hour});
    });
    for (int made = 0; made < deployments; made += deployments_of_app) {
      const apps::App app = new_app("operator" + std::to_string(made));
      for (int i = made; i < std::min(deployments, made + deployments_of_app); ++i)
        start(app, "shop-" + std::to_string(i));
      ++apps_;
    }
  }

  void run(int days) {
    // Events of charges are there for a week, so that there are as many at the beginning as at the
    // end.
    pass(app_events::kept_for + std::chrono::days(1));
    const auto bytes = fs::file_size(file_);
    const std::clock_t cpu = std::clock();
    pass(std::chrono::days(days));
    const double seconds = double(std::clock() - cpu) / CLOCKS_PER_SEC;
    print(days, 100 * seconds / (days * 86'400.0),
          double(fs::file_size(file_) - bytes) / 1e6 * 30 / days);
  }

 private:
  apps::App new_app(const std::string& name) {
    return database_.write([&](db::Tx& tx) {
      const apps::App app =
          bench::new_app(tx, bench::new_user(tx, keys_, name), "https://example.org/callback");
      ledger::mint(tx, ledger::app_account(app.id), points_of_app, "benchmark");
      return app;
    });
  }

  // A deployment with one container, which runs from now on.
  void start(const apps::App& app, const std::string& name) {
    const deployments::Order order = {
        .name = name,
        .tier = "hourly",
        .custom_domain = {},
        .container = {.image = "docker.io/library/shop:1", .health_path = {}},
        .secrets = {}};
    const auto made = database_.write_with_row_locks([&](db::Tx& tx) {
      return deployments::create(
          tx, {.user_id = app.owner_id, .app_id = app.id, .request_id = "request"}, order, rules_,
          keys_.data);
    });
    deployments::Observation seen;
    seen.status = deployments::Status::running;
    database_.write([&](db::Tx& tx) {
      deployments::record(tx, made.id, made.generation, seen);
      metering::record(tx, made.id,
                       {{.name = name + "-pod/0", .started_at = tx.now(), .ended_at = {}}}, {});
    });
  }

  void pass(Duration time) {
    for (const Instant end = clock_.now() + time; clock_.now() < end; clock_.advance(round)) {
      if (clock_.now() >= next_watch_) {
        database_.write([&](db::Tx& tx) { metering::set_watched_until(tx, tx.now()); });
        next_watch_ = clock_.now() + metering::watch_interval;
      }
      look();
      if (clock_.now() >= next_clean_up_) {
        while (database_.write(
                   [](db::Tx& tx) { return app_events::remove_old(tx, rows_at_once); }) > 0) {
        }
        next_clean_up_ = clock_.now() + clean_up_interval;
      }
    }
  }

  void look() {
    for (;;) {
      const auto apps = database_.read([](db::Tx& tx) { return metering::due(tx, apps_of_round); });
      if (apps.empty()) return;
      database_.write([&](db::Tx& tx) {
        for (const std::string& app : apps) {
          const auto done = metering::settle_due(tx, app, keys_.data);
          if (done.suspended > 0) throw std::runtime_error("an app has no points any more");
        }
      });
    }
  }

  void print(int days, double cpu, double disk) const {
    const auto verdict = [](double value, double most) { return value <= most ? "met" : "missed"; };
    const auto rows = database_.read([](db::Tx& tx) {
      return std::pair(tx.number("SELECT count(*) FROM meter_intervals WHERE ended_at IS NULL"),
                       tx.number("SELECT sum(points) FROM meter_settlements"));
    });
    std::cout << std::fixed << std::setprecision(3)
              << "| deployments | apps | measured days | points charged in all | CPU of a core | "
                 "goal | disk in 30 "
                 "days | goal |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n| "
              << rows.first << " | " << apps_ << " | " << days << " | " << rows.second << " | "
              << cpu << " % | ≤ " << most_cpu << " %: " << verdict(cpu, most_cpu) << " | " << disk
              << " MB | ≤ " << most_disk << " MB: " << verdict(disk, most_disk) << " |\n";
  }

  const fs::path file_;
  Clock clock_;
  mutable db::sqlite::Database database_;
  const Keys keys_ = {.data = std::string(32, 'd'),
                      .session = {{.id = "1", .secret = std::string(32, 's')}}};
  const deployments::Rules rules_ = {.registries = {"docker.io/library"},
                                     .apps_domain = "apps.example.org",
                                     .base_host = "api.example.org"};
  int apps_ = 0;
  Instant next_watch_ = clock_.now(), next_clean_up_ = clock_.now();
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: bench_meter FOLDER [DEPLOYMENTS [DAYS]]\n";
    return 2;
  }
  const fs::path file = fs::path(argv[1]) / "berth.db";
  if (fs::exists(file)) {
    std::cerr << file << " is there already\n";
    return 2;
  }
  Platform(file, argc > 2 ? std::stoi(argv[2]) : usual_deployments)
      .run(argc > 3 ? std::stoi(argv[3]) : usual_days);
}
