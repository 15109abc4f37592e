#include "reconcilers/loops/billing.h"

#include <utility>

#include "controller/base/log.h"

namespace berth::reconcilers {
namespace {

// A deployment whose billing fails is tried again after this time, so that it doesn't hold up the
// others.
constexpr Duration retry = std::chrono::minutes(1);

}  // namespace

BillingLoop::BillingLoop(db::Database& database, std::string data_key, Options options)
    : database_(database),
      data_key_(std::move(data_key)),
      options_(options),
      turn_(database, options.replicas, "billing"),
      rounds_("billing", [this] { run_and_log(); },
              {.interval = options.poll, .rest = options.rest}) {}

void BillingLoop::credited(const std::string& app_id) {
  {
    const std::lock_guard lock(mutex_);
    if (!credited_.insert(app_id).second) return;  // the app is waiting for its check already
  }
  rounds_.wake();
}

std::set<std::string> BillingLoop::take_credited() {
  const std::lock_guard lock(mutex_);
  return std::exchange(credited_, {});
}

int BillingLoop::run_once() {
  const std::set<std::string> apps = take_credited();
  if (!turn_.is_mine()) {
    // This process checks all debts once it is its turn again.
    next_sweep_ = SteadyClock::time_point::min();
    return 0;
  }
  int looked = look_at_due();
  if (is_sweep_due_.exchange(false)) next_sweep_ = SteadyClock::time_point::min();
  if (SteadyClock::now() >= next_sweep_) {
    looked += look_at_debts("");
    next_sweep_ = SteadyClock::now() + options_.sweep;
  } else {
    for (const std::string& app : apps) looked += look_at_debts(app);
  }
  return looked;
}

int BillingLoop::look_at_due() {
  int looked = 0;
  while (!rounds_.stopping()) {
    const auto ids = database_.read([&](db::Tx& tx) { return billing::due(tx, options_.batch); });
    if (ids.empty()) break;
    look_at(ids);
    looked += int(ids.size());
  }
  return looked;
}

int BillingLoop::look_at_debts(const std::string& app_id) {
  int looked = 0;
  std::string last;
  while (!rounds_.stopping()) {
    const auto ids = database_.read(
        [&](db::Tx& tx) { return billing::in_debt(tx, app_id, last, options_.batch); });
    if (ids.empty()) break;
    look_at(ids);
    looked += int(ids.size());
    last = ids.back();
  }
  return looked;
}

void BillingLoop::look_at(const std::vector<std::string>& ids) {
  std::vector<billing::Outcome> outcomes;
  std::uint64_t failures = 0;
  turn_.write([&](db::Tx& tx) {
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

void BillingLoop::run_and_log() {
  try {
    run_once();
  } catch (const std::exception& failure) {
    // The next round tries again, and checks all debts, since the credited apps were already taken.
    next_sweep_ = SteadyClock::time_point::min();
    log::warning("a round of the billing loop failed", {{"error", failure.what()}});
  }
}

}  // namespace berth::reconcilers
