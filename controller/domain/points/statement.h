#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/domain/points/points.h"

// The statement of an account over some UTC days: what it had before, each movement in the order in
// which it happened, with the balance after it, and what it had in the end. It is read a few lines
// at a time, each time in a snapshot of its own, so that a statement of many years needs neither
// much memory nor a long transaction.
namespace berth::points {

// The days from `first` to `last`, both included, as utc_day() numbers them.
struct Period {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct Line {
  Entry entry;
  std::int64_t balance = 0;  // after this movement
};

// One thread at a time uses it.
class Statement {
 public:
  // The movements of today end with the newest one that there is now.
  Statement(db::Tx& tx, const ledger::Account& account, const Period& period);

  // Returns the next lines, at most `most`; none after the last one.
  std::vector<Line> next(db::Tx& tx, int most);

  const ledger::Account& account() const { return account_; }
  const Period& period() const { return period_; }
  std::int64_t opening_balance() const { return opening_balance_; }
  // Of the lines so far.
  std::int64_t balance() const { return balance_; }
  std::int64_t credited() const { return credited_; }
  std::int64_t debited() const { return debited_; }
  std::int64_t lines() const { return lines_; }
  // Whether all of its days were closed (ledger/closed_days.h) when it was begun. If not, movements
  // may be added to them.
  bool is_final() const { return is_final_; }

 private:
  ledger::Account account_;
  Period period_;
  std::int64_t account_number_;
  std::int64_t opening_balance_;
  bool is_final_;
  std::int64_t end_;  // the number of the first transaction that isn't part of it
  // The last movement that was read.
  std::int64_t number_;
  std::int64_t leg_;
  std::int64_t balance_;
  std::int64_t credited_ = 0;
  std::int64_t debited_ = 0;
  std::int64_t lines_ = 0;
};

}  // namespace berth::points
