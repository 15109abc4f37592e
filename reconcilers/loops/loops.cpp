#include "reconcilers/loops/loops.h"

#include <prometheus/counter.h>
#include <pthread.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace berth::reconcilers {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How often a loop is logged that fails again and again.
constexpr std::chrono::minutes failure_logged_each{1};

// The name of a thread that waits for the next round of any loop.
constexpr const char* idle_name = "loops";

}  // namespace

// A loop, and when its next round is due. The lock of Loops guards it, except for run_round(),
// which is for the thread that has set is_running.
class Loops::Running {
 public:
  Running(Loop loop, const Loops& all)
      : loop_(std::move(loop)),
        done_(all.rounds_.Add({{"loop", loop_.name}, {"outcome", "done"}})),
        failed_(all.rounds_.Add({{"loop", loop_.name}, {"outcome", "failed"}})),
        round_(all.database_, all.replicas_, loop_.lease, stop_.get_token()) {}

  const Loop& loop() const { return loop_; }
  // When the next round is due; ThreadCrew::never if there is none, or one runs.
  SteadyClock::time_point due() const {
    if (!is_started || is_running) return ThreadCrew::never;
    return std::max(rested_at, is_woken ? ThreadCrew::now : due_at);
  }
  // A round has ended.
  void plan() {
    rested_at = SteadyClock::now() + loop_.rest;
    due_at = rested_at + loop_.interval;
  }
  void run_round();
  void request_stop() { stop_.request_stop(); }

  bool is_started = false;
  bool is_running = false;
  bool is_woken = false;
  SteadyClock::time_point rested_at = ThreadCrew::now;
  SteadyClock::time_point due_at = ThreadCrew::now;

 private:
  const Loop loop_;
  prometheus::Counter& done_;
  prometheus::Counter& failed_;
  std::stop_source stop_;
  Round round_;
  std::optional<SteadyClock::time_point> failure_logged_;  // if the round before has failed
};

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

Loops::~Loops() {
  stop();
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  if (crew_) crew_->join();
}

void Loops::add(Loop loop) {
  Running& added = *loops_.emplace_back(std::make_unique<Running>(std::move(loop), *this));
  add(Part{.start = [this, &added] { start(added); }, .stop = [this, &added] { stop(added); }});
}

void Loops::start(Running& loop) {
  const std::lock_guard lock(mutex_);
  loop.is_started = true;
  if (crew_) {
    crew_->call(1);
    return;
  }
  crew_.emplace(mutex_, ThreadCrew::Options{
                            .most = loops_.size(),
                            .kept = 1,
                            .name = idle_name,
                            .work = [this](ThreadCrew::Lock& held) { work(held); },
                            .next = [this] { return is_ending_ ? ThreadCrew::now : next(); }});
  crew_->start();
}

// Asks all loops at once: a round may have to wait for as long as a database that can't be reached
// is waited for, and those of the others would begin meanwhile.
void Loops::ask_to_stop() {
  std::vector<Running*> asked;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& loop : loops_)
      if (std::exchange(loop->is_started, false)) asked.push_back(loop.get());
  }
  for (Running* loop : asked) loop->request_stop();  // calls whoever waits for it
}

void Loops::stop(Running& loop) {
  ask_to_stop();
  {
    std::unique_lock lock(mutex_);
    round_ended_.wait(lock, [&] { return !loop.is_running; });
  }
  if (loop.loop().at_end) loop.run_round();
}

// When the next round of any loop is due.
ThreadCrew::Clock::time_point Loops::next() const {
  SteadyClock::time_point earliest = ThreadCrew::never;
  for (const auto& loop : loops_) earliest = std::min(earliest, loop->due());
  return earliest;
}

// The loop whose round has been due for longest; null if none is.
Loops::Running* Loops::due_loop() const {
  const auto first =
      std::ranges::min_element(loops_, {}, [](const auto& loop) { return loop->due(); });
  return first == loops_.end() || (*first)->due() > SteadyClock::now() ? nullptr : first->get();
}

void Loops::work(ThreadCrew::Lock& lock) {
  while (!is_ending_) {
    Running* const loop = due_loop();
    if (loop == nullptr) {
      if (!crew_->rest(lock)) return;
      continue;
    }
    loop->is_running = true;
    loop->is_woken = false;
    // While this thread is busy, another one has to wait for what comes next.
    if (next() != ThreadCrew::never) crew_->call(1);
    lock.unlock();
    pthread_setname_np(pthread_self(), loop->loop().name.c_str());
    loop->run_round();
    pthread_setname_np(pthread_self(), idle_name);
    lock.lock();
    loop->is_running = false;
    loop->plan();
    round_ended_.notify_all();
  }
}

void Loops::start() {
  while (started_ < parts_.size()) parts_[started_++].start();
}

void Loops::stop() {
  while (started_ > 0) parts_[--started_].stop();
}

void Loops::wake(std::string_view name) {
  const auto found = std::ranges::find(
      loops_, name, [](const auto& loop) -> const std::string& { return loop->loop().name; });
  if (found == loops_.end()) throw std::invalid_argument("no loop is called " + std::string(name));
  const std::lock_guard lock(mutex_);
  (*found)->is_woken = true;
  if (crew_ && (*found)->due() != ThreadCrew::never) crew_->call(1);
}

}  // namespace berth::reconcilers
