#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "controller/db/database.h"

namespace berth {

// The berthd processes on one database: this one, which others are alive, and which of them runs
// which loop.
//
// Each process raises a number in a row of its own every beat_interval, and looks at the rows of
// the others. One whose number stays the same for `looks_until_dead` looks counts as dead: its row
// and its loops are then free for whoever looks next. Clocks are never compared, so neither a wrong
// clock nor one that was moved ahead makes a process look dead, and while the database is
// unreachable nobody looks. A process that was only stopped for a while is alive again with its
// next beat, but has lost its loops, which `require` detects within each of their transactions.
//
// Thread-safe, except for beat() and leave(), which one thread calls at a time.
class Replicas {
 public:
  static constexpr std::chrono::seconds beat_interval{1};
  static constexpr int looks_until_dead = 5;
  // How long the row of a process that died stays if no other one has lived long enough to remove
  // it.
  static constexpr Duration kept_for = std::chrono::hours(24);

  explicit Replicas(db::Database& database);

  // The id of this run of the process, which no other run ever has.
  const std::string& id() const { return id_; }

  // Says that this process is alive, and looks at the others. Returns whether one of them has died
  // since the last call: the notifications of its last commits may be lost. Throws what reads and
  // writes throw.
  bool beat();
  // Gives everything back, so that the others needn't wait. Throws Error `unavailable`.
  void leave();

  // Returns how many processes are alive, including this one; at least 1. Answers from memory.
  int live() const;
  // Whether this process runs the loop with this name. Takes the loop if nobody has it, and writes
  // only then. False until the first beat(). Throws Error `unavailable`.
  bool holds(const std::string& loop);
  // Throws LoopLost if this process doesn't have the loop. If another process takes the loop before
  // the (serializable) transaction commits, the transaction is rolled back.
  void require(db::Tx& tx, const std::string& loop) const;

  struct LoopLost : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

 private:
  struct Other {
    std::int64_t beats = 0;
    int unchanged = 0;  // the number of looks since `beats` changed
  };
  void look();
  bool remove_dead();

  db::Database& database_;
  const std::string id_;
  std::mutex looking_mutex_;  // held while the tables and the memory are compared
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, Other> others_;
  std::map<std::string, std::string> owners_;  // the owners of the loops, by the loops' names
  bool has_looked_ = false;
};

// The turn of one loop: at any time, at most one berthd process on a database has it. Thread-safe.
class LoopTurn {
 public:
  // `replicas` is null if berthd has the database for itself: then it is always this one's turn.
  LoopTurn(db::Database& database, Replicas* replicas, std::string name)
      : database_(database), replicas_(replicas), name_(std::move(name)) {}

  // Ask at the beginning of each round. Throws Error `unavailable`.
  bool is_mine() { return replicas_ == nullptr || replicas_->holds(name_); }
  // Does what Database::write() does, in a transaction that is rolled back if another process has
  // taken the loop; then it throws Replicas::LoopLost.
  template <typename Work>
  auto write(Work&& work) -> std::invoke_result_t<Work, db::Tx&> {
    return database_.write([&](db::Tx& tx) { return work_if_mine(tx, work); });
  }
  // Does the same as Database::write_with_row_locks(). Another process may take the loop while the
  // transaction runs.
  template <typename Work>
  auto write_with_row_locks(Work&& work) -> std::invoke_result_t<Work, db::Tx&> {
    return database_.write_with_row_locks([&](db::Tx& tx) { return work_if_mine(tx, work); });
  }

 private:
  template <typename Work>
  auto work_if_mine(db::Tx& tx, Work& work) {
    if (replicas_ != nullptr) replicas_->require(tx, name_);
    return work(tx);
  }

  db::Database& database_;
  Replicas* const replicas_;
  const std::string name_;
};

}  // namespace berth
