#include "reconcilers/loops/billing.h"

#include <utility>

#include "controller/base/log.h"
#include "controller/domain/deployments/runs/releases.h"

namespace berth::reconcilers {
namespace {

// A deployment whose billing fails is tried again after this time, so that it doesn't hold up the
// others.
constexpr Duration retry = std::chrono::minutes(1);

}  // namespace

Loop BillingLoop::loop() {
  return {.name = std::string(name),
          .interval = std::chrono::seconds(1),
          .rest = std::chrono::milliseconds(100),
          .lease = "billing",
          .round = [this](Round& round) { run_once(round); },
          .failure = "a round of the billing loop failed"};
}

void BillingLoop::credited(const std::string& app_id) {
  const std::lock_guard lock(mutex_);
  if (credited_.size() < max_credited)
    credited_.insert(app_id);
  else
    is_sweep_due_ = true;
}

int BillingLoop::run_once(Round& round) {
  std::set<std::string> apps;
  {
    const std::lock_guard lock(mutex_);
    apps.swap(credited_);
  }
  // Apps that were taken in a round that failed, or that another process has, aren't known any
  // more.
  const bool sweeps =
      is_sweep_due_.exchange(false) || round.is_first() || SteadyClock::now() >= next_sweep_;
  int looked = look_at_due(round);
  if (sweeps) {
    looked += look_at_debts(round, "");
    retry_releases(round, "");
    next_sweep_ = SteadyClock::now() + options_.sweep;
  } else {
    for (const std::string& app : apps) {
      looked += look_at_debts(round, app);
      retry_releases(round, app);
    }
  }
  return looked;
}

int BillingLoop::look_at_due(Round& round) {
  int looked = 0;
  while (!round.is_stopping()) {
    const auto ids = round.read([&](db::Tx& tx) { return billing::due(tx, options_.batch); });
    if (ids.empty()) break;
    look_at(round, ids);
    looked += int(ids.size());
  }
  return looked;
}

int BillingLoop::look_at_debts(Round& round, const std::string& app_id) {
  int looked = 0;
  std::string last;
  while (!round.is_stopping()) {
    const auto ids =
        round.read([&](db::Tx& tx) { return billing::in_debt(tx, app_id, last, options_.batch); });
    if (ids.empty()) break;
    look_at(round, ids);
    looked += int(ids.size());
    last = ids.back();
  }
  return looked;
}

void BillingLoop::retry_releases(Round& round, const std::string& app_id) {
  releases::Unpaid last, next;
  while (!round.is_stopping()) {
    std::vector<std::string> ids;
    round.read([&](db::Tx& tx) {
      ids = releases::unpaid(tx, last, app_id, options_.batch);
      if (ids.empty()) return;
      next = {.app_id = deployments::find(tx, ids.back())->app_id, .id = ids.back()};
    });
    if (ids.empty()) break;
    last = next;
    round.write([&](db::Tx& tx) {
      for (const std::string& id : ids) releases::retry_unpaid(tx, id);
    });
  }
}

// An app whose points are moved all the time can have the whole write given up, on PostgreSQL after
// many attempts. The deployments are then looked at one by one, so that it doesn't hold up the
// others.
void BillingLoop::look_at(Round& round, const std::vector<std::string>& ids) {
  try {
    look_at_together(round, ids);
  } catch (const std::exception& failure) {
    if (round.is_stopping()) throw;
    if (ids.size() > 1) {
      for (const std::string& id : ids) look_at(round, {id});
      return;
    }
    round.write([&](db::Tx& tx) { billing::postpone(tx, ids.front(), tx.now() + retry); });
    log::error("a deployment's billing couldn't be stored and will be tried again",
               {{"deployment", ids.front()}, {"error", failure.what()}});
    ++failures_;
  }
}

void BillingLoop::look_at_together(Round& round, const std::vector<std::string>& ids) {
  std::vector<billing::Outcome> outcomes;
  std::uint64_t failures = 0;
  round.write([&](db::Tx& tx) {
    outcomes.clear();  // an earlier run of this transaction may have filled it
    failures = 0;
    for (const std::string& id : ids) {
      try {
        outcomes.push_back(tx.nested([&] { return billing::settle_due(tx, id, data_key_); }));
      } catch (const std::exception& failure) {
        log::error("a deployment's billing couldn't be settled and will be tried again",
                   {{"deployment", id}, {"error", failure.what()}});
        billing::postpone(tx, id, tx.now() + retry);
        ++failures;
      }
    }
  });
  // Outcomes are counted after the commit.
  for (const billing::Outcome outcome : outcomes) ++outcomes_[size_t(outcome)];
  failures_ += failures;
}

std::vector<std::pair<std::string, std::uint64_t>> BillingLoop::outcomes() const {
  const auto count = [this](billing::Outcome outcome) { return outcomes_[size_t(outcome)].load(); };
  return {{"renewed", count(billing::Outcome::renewed)},
          {"warned", count(billing::Outcome::warned)},
          {"suspended", count(billing::Outcome::suspended)},
          {"reactivated", count(billing::Outcome::reactivated)},
          {"failed", failures_}};
}

}  // namespace berth::reconcilers
