#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>

#include "controller/base/log.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/replicas.h"

namespace berth {

class Round;

// Work that becomes due with time, as the module that it belongs to describes it. The class Loops
// (reconcilers/loops/loops.h) runs each round on a thread that has nothing else to do.
struct Loop {
  // The name of the loop in metrics, and of the thread (`top -H`) while a round runs, in at most 15
  // characters.
  std::string name = {};
  // The pause between two rounds; 0 if the rounds themselves wait for something.
  std::chrono::milliseconds interval{0};
  // The shortest pause, however often the loop is woken; for rounds that cost something.
  std::chrono::milliseconds rest{0};
  // The name of the loop's row in loop_leases: of several berthd processes on a database, the
  // one that has the row runs the rounds. If it is empty, each process runs them.
  std::string lease = {};
  // One round. What it throws is logged and counted, and the next round tries again.
  std::function<void(Round&)> round = {};
  // Whether the round runs once more when berthd stops, after the thread has ended.
  bool at_end = false;
  // What the log says if a round throws, and at which level.
  std::string failure = {};
  log::Level level = log::Level::warning;
};

// What the function of a loop works with: the turn of the loop, by which it writes, and whether it
// should come to an end. Each loop has one such object, and its rounds follow each other. Used by
// one thread at a time.
class Round : public LoopTurn {
 public:
  // `replicas` is null if this process has the database for itself; then, and if `lease` is empty,
  // it is always its turn. `stop` says when berthd is to stop.
  explicit Round(db::Database& database, Replicas* replicas = nullptr,
                 const std::string& lease = {}, std::stop_token stop = {})
      : LoopTurn(database, lease.empty() ? nullptr : replicas, lease),
        database_(database),
        stop_(std::move(stop)) {}

  // Calls `work` if it is this process's turn. Returns whether it was. Throws Error `unavailable`
  // and what `work` throws.
  bool run(const std::function<void(Round&)>& work) {
    is_first_ = !std::exchange(has_succeeded_, false);
    if (!is_mine()) return false;
    work(*this);
    return has_succeeded_ = true;
  }

  // True if what a loop remembers of earlier rounds may be wrong: in the first round of all, and
  // after a round that failed or was another process's.
  bool is_first() const { return is_first_; }
  // Whether the round should come to an end.
  bool is_stopping() const { return stop_.stop_requested(); }
  const std::stop_token& stop_token() const { return stop_; }

  db::Database& database() { return database_; }
  template <typename Work>
  auto read(Work&& work) {
    return database_.read(work);
  }
  // Calls `some(tx)`, which returns how much it has done, in one write() after the other while
  // `is_due(tx)` is true and berthd isn't to stop. Asks in a read, because even an empty
  // transaction would hold up the other writers. Returns the sum.
  template <typename IsDue, typename Some>
  int repeat(IsDue is_due, Some some) {
    return repeat_write(is_due, [&] { return write(some); });
  }
  // The same with write_with_row_locks().
  template <typename IsDue, typename Some>
  int repeat_with_row_locks(IsDue is_due, Some some) {
    return repeat_write(is_due, [&] { return write_with_row_locks(some); });
  }

 private:
  template <typename IsDue, typename Write>
  int repeat_write(IsDue& is_due, Write write) {
    int done = 0;
    while (!is_stopping() && read(is_due)) {
      const int count = write();
      if (count == 0) break;
      done += count;
    }
    return done;
  }

  db::Database& database_;
  const std::stop_token stop_;
  bool has_succeeded_ = false;  // in the round before
  bool is_first_ = true;
};

}  // namespace berth
