#include "reconcilers/loops/loops.h"

#include <prometheus/counter.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace berth::reconcilers {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How often a loop is logged that fails again and again.
constexpr std::chrono::minutes failure_logged_each{1};

}  // namespace

class Loops::Running {
 public:
  Running(Loop loop, const Loops& all)
      : loop_(std::move(loop)),
        done_(all.rounds_.Add({{"loop", loop_.name}, {"outcome", "done"}})),
        failed_(all.rounds_.Add({{"loop", loop_.name}, {"outcome", "failed"}})),
        round_(all.database_, all.replicas_, loop_.lease, stop_.get_token()) {}

  const std::string& name() const { return loop_.name; }
  void start() {
    thread_ = std::thread([this] { work(); });
    pthread_setname_np(thread_.native_handle(), loop_.name.c_str());
  }
  void stop() {
    if (!thread_.joinable()) return;
    stop_.request_stop();
    thread_.join();
    if (loop_.at_end) run_round();
  }
  void wake() {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
    wakes_.notify_all();
  }

 private:
  void work();
  void run_round();

  const Loop loop_;
  prometheus::Counter& done_;
  prometheus::Counter& failed_;
  std::stop_source stop_;
  Round round_;
  std::optional<SteadyClock::time_point> failure_logged_;  // if the round before has failed
  std::mutex mutex_;
  std::condition_variable_any wakes_;
  bool is_woken_ = false;
  std::thread thread_;
};

void Loops::Running::work() {
  while (!round_.is_stopping()) {
    run_round();
    std::unique_lock lock(mutex_);
    wakes_.wait_for(lock, round_.stop_token(), loop_.rest, [] { return false; });
    wakes_.wait_for(lock, round_.stop_token(), loop_.interval, [this] { return is_woken_; });
    is_woken_ = false;
  }
}

void Loops::Running::run_round() {
  try {
    if (round_.run(loop_.round)) done_.Increment();
    failure_logged_.reset();
  } catch (const std::exception& failure) {
    failed_.Increment();
    const auto now = SteadyClock::now();
    if (failure_logged_ && now < *failure_logged_ + failure_logged_each) return;
    failure_logged_ = now;
    log::write(loop_.level, loop_.failure, {{"error", failure.what()}});
  }
}

Loops::Loops(db::Database& database, Replicas* replicas, prometheus::Registry& registry)
    : database_(database),
      replicas_(replicas),
      rounds_(prometheus::BuildCounter()
                  .Name("berth_loop_rounds_total")
                  .Help("Rounds of the loops of this process, by loop and outcome: done, or failed "
                        "and tried again.")
                  .Register(registry)) {}

Loops::~Loops() { stop(); }

void Loops::add(Loop loop) {
  Running& added = *loops_.emplace_back(std::make_unique<Running>(std::move(loop), *this));
  add(Part{.start = [&added] { added.start(); }, .stop = [&added] { added.stop(); }});
}

void Loops::start() {
  while (started_ < parts_.size()) parts_[started_++].start();
}

void Loops::stop() {
  while (started_ > 0) parts_[--started_].stop();
}

void Loops::wake(std::string_view name) {
  const auto found = std::ranges::find(loops_, name, &Running::name);
  if (found == loops_.end()) throw std::invalid_argument("no loop is called " + std::string(name));
  (*found)->wake();
}

}  // namespace berth::reconcilers
