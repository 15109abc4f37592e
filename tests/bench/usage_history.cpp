// What the history of 1,000 deployments' usage costs, and what the ledger's commits feel of it, as
// a table: bench_usage_history FOLDER [DEPLOYMENTS [SECONDS]]. The folder has to be on the disk
// that is measured. Commits are measured in 5 rounds, each 4 seconds with and without the history.
#include "reconcilers/cluster/usage_history.h"

#include <sys/resource.h>

#include <atomic>
#include <iomanip>
#include <iostream>
#include <string>
#include <thread>

#include "controller/base/id.h"
#include "controller/db/sqlite/database.h"
#include "controller/domain/ledger/ledger.h"

using namespace berth;
namespace fs = std::filesystem;

namespace {

constexpr int usual_deployments = 1'000;
constexpr int rounds = 5;
constexpr int usual_seconds = 4;  // of a round, with and without the history

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return double(time.tv_sec) + double(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double megabytes(const fs::path& file) { return double(fs::file_size(file)) / 1e6; }

reconcilers::UsageHistory::Samples samples(const std::vector<std::string>& ids, std::int64_t at) {
  reconcilers::UsageHistory::Samples all;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto wave = std::int64_t((at * 7 + std::int64_t(i) * 13) % 400);
    usage_history::Values& values = all[ids[i]];
    const std::int64_t measured[] = {20 + wave, (100 + wave) << 20, 1,  wave == 0, 900 + wave, 80,
                                     wave % 30, wave % 3,           15, 40 + wave, 100 + wave};
    for (size_t metric = 0; metric < values.size(); ++metric) values.at(metric) = measured[metric];
  }
  return all;
}

// Transfers for a while, each in a commit of its own. Returns their number in a second.
double transfers(db::Database& database, const std::string& user,
                 std::chrono::duration<double> time) {
  int done = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < time) {
    database.write([&](db::Tx& tx) { ledger::mint(tx, ledger::user_account(user), 1, "bench"); });
    ++done;
  }
  return done / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: bench_usage_history FOLDER [DEPLOYMENTS [SECONDS]]\n";
    return 2;
  }
  const int many = argc > 2 ? std::stoi(argv[2]) : usual_deployments;
  const std::chrono::duration<double> time(argc > 3 ? std::stod(argv[3]) : usual_seconds);
  const fs::path folder = fs::path(argv[1]) / "usage-history-bench";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::vector<std::string> ids;
  for (int i = 0; i < many; ++i) ids.push_back(new_uuid(system_time()));
  const fs::path file = folder / "usage-history.db";
  reconcilers::UsageHistory history(file);
  using namespace usage_history;
  Instant at = Instant(std::chrono::days(20'000));
  // 29 days, of which the quarters of an hour stay, with a minute in each; then a day of minutes.
  for (; at < Instant(std::chrono::days(20'029)); at += quarter)
    history.add(at, samples(ids, to_millis(at) / 60'000));
  const double before = cpu_seconds();
  int minutes = 0;
  for (; at < Instant(std::chrono::days(20'030) + std::chrono::hours(2)); at += minute, ++minutes)
    history.add(at, samples(ids, to_millis(at) / 60'000));
  const double each = (cpu_seconds() - before) / minutes;
  std::cout << std::fixed << std::setprecision(3) << "storing a minute of " << many
            << " deployments: " << each * 1'000 << " ms of CPU, " << each / 60 * 100
            << " % of a core\n";
  const double reading = cpu_seconds();
  for (size_t i = 0; i < 100; ++i)
    history.read({.deployment_id = ids[i % ids.size()],
                  .from = at - minutes_kept_for,
                  .step = minute,
                  .count = 1'440});
  std::cout << "reading a day of minutes: " << (cpu_seconds() - reading) * 10 << " ms of CPU\n";
  std::cout << "on disk after 30 days: " << megabytes(file) << " MB\n";

  const Clock clock;
  db::sqlite::Database database(folder / "berth.db", clock);
  const std::string user = new_uuid(system_time());
  database.write([&](db::Tx& tx) {
    ledger::open_account(tx, ledger::treasury());
    ledger::open_account(tx, ledger::issuance());
    ledger::open_account(tx, ledger::user_account(user));
  });
  double with = 0;
  double without = 0;
  for (int round = 0; round < rounds; ++round) {
    without += transfers(database, user, time);
    std::atomic<bool> over = false;
    // A minute's samples each second: sixty times what berthd does.
    std::thread measuring([&] {
      for (; !over; at += minute) {
        history.add(at, samples(ids, to_millis(at) / 60'000));
        std::this_thread::sleep_for(std::chrono::seconds(1));
      }
    });
    with += transfers(database, user, time);
    over = true;
    measuring.join();
  }
  std::cout << "commits of the ledger in a second: " << without / rounds << " without, "
            << with / rounds << " with 60 times the samples, ratio " << with / without << "\n";
  fs::remove_all(folder);
}
