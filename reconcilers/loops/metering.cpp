#include "reconcilers/loops/metering.h"

#include "controller/base/log.h"
#include "controller/domain/deployments/metering/meter.h"

namespace berth::reconcilers {
namespace {

// An app that can't be settled is tried again after this time, so that it doesn't hold up the
// others.
constexpr Duration tried_again_after = std::chrono::minutes(1);

}  // namespace

Loop MeteringLoop::loop() {
  return {.name = std::string(name),
          .interval = std::chrono::seconds(1),
          .lease = "metering",
          .round = [this](Round& round) { run_once(round); },
          .failure = "a round of the metering loop failed"};
}

int MeteringLoop::run_once(Round& round) {
  int looked = 0;
  while (!round.is_stopping()) {
    const auto apps = round.read([&](db::Tx& tx) { return metering::due(tx, options_.batch); });
    if (apps.empty()) break;
    look_at(round, apps);
    looked += int(apps.size());
  }
  clean_up(round);
  return looked;
}

// An app whose points are moved all the time can have the whole write given up, on PostgreSQL after
// many attempts. The apps are then looked at one by one, so that it doesn't hold up the others.
void MeteringLoop::look_at(Round& round, const std::vector<std::string>& apps) {
  try {
    look_at_together(round, apps);
  } catch (const std::exception& failure) {
    if (round.is_stopping()) throw;
    if (apps.size() > 1) {
      for (const std::string& app : apps) look_at(round, {app});
      return;
    }
    round.write(
        [&](db::Tx& tx) { metering::postpone(tx, apps.front(), tx.now() + tried_again_after); });
    log::error("what an app has used couldn't be stored and will be tried again",
               {{"app", apps.front()}, {"error", failure.what()}});
    const std::lock_guard lock(mutex_);
    ++totals_.failed;
  }
}

void MeteringLoop::look_at_together(Round& round, const std::vector<std::string>& apps) {
  Totals of_batch;
  round.write([&](db::Tx& tx) {
    of_batch = {};  // an earlier run of this transaction may have filled it
    for (const std::string& app : apps) {
      try {
        of_batch.done.add(tx.nested([&] { return metering::settle_due(tx, app, data_key_); }));
      } catch (const std::exception& failure) {
        log::error("what an app has used couldn't be settled and will be tried again",
                   {{"app", app}, {"error", failure.what()}});
        metering::postpone(tx, app, tx.now() + tried_again_after);
        ++of_batch.failed;
      }
    }
  });
  // Counted after the commit.
  const std::lock_guard lock(mutex_);
  totals_.done.add(of_batch.done);
  totals_.failed += of_batch.failed;
}

void MeteringLoop::clean_up(Round& round) {
  if (SteadyClock::now() < next_clean_up_) return;
  const auto remove_some = [&](db::Tx& tx) {
    return metering::remove_old_intervals(tx, options_.rows);
  };
  while (!round.is_stopping() && round.write(remove_some) > 0) {
  }
  std::string last;
  do {
    const auto old = round.read(
        [&](db::Tx& tx) { return metering::find_old_days(tx, last, options_.deployments); });
    if (!old.deployments.empty())
      round.write([&](db::Tx& tx) { return metering::remove_old_days(tx, old.deployments); });
    last = old.last;
  } while (!round.is_stopping() && !last.empty());
  next_clean_up_ = SteadyClock::now() + options_.clean_up;
}

MeteringLoop::Totals MeteringLoop::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace berth::reconcilers
