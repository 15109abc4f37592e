#pragma once

#include <prometheus/registry.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "controller/base/thread_crew.h"
#include "controller/domain/kernel/loop.h"

namespace berth::reconcilers {

// Runs loops, and starts and stops them and other parts in order: each begins after those that were
// added before it, and ends before them. Each round that is due has a thread, so that none waits
// for another loop's; one thread waits for all rounds that come later. Asks before each round
// whether it is this process's turn, logs what a round throws, and counts the rounds
// (`berth_loop_rounds_total`). A loop that goes on failing is logged once a minute.
//
// The composition root creates one, adds everything before wake() can be called, and calls start()
// and stop() from one thread.
class Loops {
 public:
  // What isn't a loop, such as a server.
  struct Part {
    std::function<void()> start;
    std::function<void()> stop;  // also called if `start` has thrown; must not throw
  };

  // `replicas` is null if this process has the database for itself.
  Loops(db::Database& database, Replicas* replicas, prometheus::Registry& registry);
  ~Loops();  // calls stop()
  Loops(const Loops&) = delete;
  Loops& operator=(const Loops&) = delete;

  void add(Loop loop);
  void add(Part part) { parts_.push_back(std::move(part)); }

  // The first round of each loop begins at once. Throws what the start of a part throws.
  void start();
  // Ends what was started. Once it is a loop's turn, no loop begins another round, and all are
  // asked to end. The current round of each loop ends first; then, on the calling thread, the last
  // one of those with `at_end` runs.
  void stop();
  // Starts the loop's next round at once, or after `rest`. Never blocks for long; may be called
  // from any thread. Throws std::invalid_argument if there is no such loop.
  void wake(std::string_view name);

 private:
  class Running;

  void start(Running& loop);
  void ask_to_stop();
  void stop(Running& loop);
  void work(ThreadCrew::Lock& lock);
  ThreadCrew::Clock::time_point next() const;
  Running* due_loop() const;

  db::Database& database_;
  Replicas* const replicas_;
  prometheus::Family<prometheus::Counter>& rounds_;
  std::vector<std::unique_ptr<Running>> loops_;
  std::vector<Part> parts_;  // with the loops
  size_t started_ = 0;       // how many of them

  std::mutex mutex_;
  std::condition_variable round_ended_;
  bool is_ending_ = false;
  std::optional<ThreadCrew> crew_;  // last: its threads use the members above
};

}  // namespace berth::reconcilers
