#include "reconcilers/loops/crons.h"

#include <algorithm>

#include "controller/base/log.h"

namespace berth::reconcilers {
namespace {

// A cron that can't be processed is tried again after this time, so that it doesn't hold up the
// others.
constexpr Duration cron_tried_again_after = std::chrono::seconds(10);

void log_failure(const crons::Key& key, const std::exception& failure) {
  log::error("a cron couldn't be processed and will be tried again",
             {{"deployment", key.deployment_id}, {"cron", key.name}, {"error", failure.what()}});
}

}  // namespace

Loop CronLoop::loop() {
  return {.name = std::string(name),
          .interval = std::chrono::seconds(1),
          .lease = "crons",
          .round = [this](Round& round) { run_once(round); },
          .failure = "a round of the loop of crons failed"};
}

int CronLoop::run_once(Round& round) {
  if (round.is_first()) correct(round);
  int looked = 0;
  while (!round.is_stopping()) {
    const auto keys = round.read([&](db::Tx& tx) { return crons::due(tx, batch_); });
    if (keys.empty()) break;
    look_at(round, keys);
    looked += int(keys.size());
  }
  return looked;
}

void CronLoop::correct(Round& round) {
  const auto keys = round.read([](db::Tx& tx) { return crons::too_late(tx); });
  for (std::size_t done = 0; done < keys.size() && !round.is_stopping();) {
    const std::size_t end = std::min(keys.size(), done + std::size_t(batch_));
    round.write([&](db::Tx& tx) {
      for (std::size_t i = done; i < end; ++i) crons::correct(tx, keys[i]);
    });
    done = end;
  }
}

// On PostgreSQL a write may be given up after many attempts, for example because the points of one
// app are moved all the time. The crons are then looked at one by one.
void CronLoop::look_at(Round& round, const std::vector<crons::Key>& keys) {
  try {
    look_at_together(round, keys);
  } catch (const std::exception& failure) {
    if (round.is_stopping()) throw;
    if (keys.size() > 1) {
      for (const crons::Key& key : keys) look_at(round, {key});
      return;
    }
    round.write(
        [&](db::Tx& tx) { crons::postpone(tx, keys.front(), tx.now() + cron_tried_again_after); });
    log_failure(keys.front(), failure);
    ++failures_;
  }
}

void CronLoop::look_at_together(Round& round, const std::vector<crons::Key>& keys) {
  std::vector<crons::Outcome> outcomes;
  std::uint64_t failures = 0;
  round.write([&](db::Tx& tx) {
    outcomes.clear();  // an earlier run of this transaction may have filled it
    failures = 0;
    for (const crons::Key& key : keys) {
      try {
        outcomes.push_back(tx.nested([&] { return crons::settle_due(tx, key); }));
      } catch (const std::exception& failure) {
        log_failure(key, failure);
        crons::postpone(tx, key, tx.now() + cron_tried_again_after);
        ++failures;
      }
    }
  });
  // Outcomes are counted after the commit.
  for (const crons::Outcome outcome : outcomes) ++outcomes_[std::size_t(outcome)];
  failures_ += failures;
}

std::vector<std::pair<std::string, std::uint64_t>> CronLoop::outcomes() const {
  const auto count = [this](crons::Outcome outcome) {
    return outcomes_[std::size_t(outcome)].load();
  };
  return {{"started", count(crons::Outcome::started)},
          {"skipped", count(crons::Outcome::skipped)},
          {"missed", count(crons::Outcome::missed)},
          {"failed", failures_}};
}

}  // namespace berth::reconcilers
