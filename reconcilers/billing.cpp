#include "reconcilers/billing.h"

#include <utility>

#include "controller/base/log.h"
#include "controller/domain/billing.h"

namespace berth::reconcilers {
namespace {

// A deployment that can't be looked at waits so long, so that it doesn't hold up the others.
constexpr Duration retry = std::chrono::minutes(1);

}  // namespace

BillingLoop::BillingLoop(db::Database& database, std::string data_key, Options options)
    : database_(database), data_key_(std::move(data_key)), options_(options) {}

BillingLoop::~BillingLoop() { stop(); }

void BillingLoop::start() {
  thread_ = std::thread([this] { work(); });
}

void BillingLoop::stop() {
  if (!thread_.joinable()) return;
  stopping_.request_stop();
  thread_.join();
}

void BillingLoop::credited(const std::string& app_id) {
  const std::lock_guard lock(mutex_);
  credited_.insert(app_id);
  wakes_.notify_all();
}

std::set<std::string> BillingLoop::take_credited() {
  const std::lock_guard lock(mutex_);
  return std::exchange(credited_, {});
}

int BillingLoop::run_once() {
  const std::set<std::string> apps = take_credited();
  int looked = look_at_due();
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
  while (!stopping_.stop_requested()) {
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
  while (!stopping_.stop_requested()) {
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
  database_.write([&](db::Tx& tx) {
    for (const std::string& id : ids) {
      try {
        tx.nested([&] { billing::look(tx, id, data_key_); });
      } catch (const std::exception& failure) {
        log::error("a deployment's billing can't be settled and is tried again",
                   {{"deployment", id}, {"error", failure.what()}});
        billing::postpone(tx, id, tx.now() + retry);
      }
    }
  });
}

void BillingLoop::work() {
  while (!stopping_.stop_requested()) {
    run_and_log();
    std::unique_lock lock(mutex_);
    wakes_.wait_for(lock, stopping_.get_token(), options_.poll,
                    [this] { return !credited_.empty(); });
  }
}

void BillingLoop::run_and_log() {
  try {
    run_once();
  } catch (const std::exception& failure) {
    // The next round tries again, all that is in debt included.
    next_sweep_ = SteadyClock::time_point::min();
    log::warning("the billing loop failed and goes on", {{"error", failure.what()}});
  }
}

}  // namespace berth::reconcilers
