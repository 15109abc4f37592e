#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "controller/db/database.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/finding.h"

// The ledger's past. A UTC day is closed some time after its end: from then on nothing is posted on
// it, whatever the clock says (ledger::post() uses the first moment after the newest closed day
// instead). Then all of it is read, and its row gets the numbers, a hash of its transactions and
// postings, and a hash that also covers the row before it. So a change of old rows is found by
// reading the day again, and a change of these rows by reading nothing but them. The chain has no
// key: it protects from accidents, and from somebody who can write the database only in so far as
// they don't also know the newest hash, which berthd logs.
//
// Memos aren't covered, because they are emptied when a user is deleted.
namespace berth::ledger {

// How long after its end a day is closed. A clock that is corrected by less changes no time.
inline constexpr Duration closing_margin = std::chrono::hours(1);

// What a row of a closed day says about it.
struct DaySums {
  std::int64_t transactions = 0;
  std::int64_t postings = 0;
  std::int64_t moved = 0;  // the sum of the amounts above 0, at most max_points
  std::string hash;        // SHA-256 in hex

  bool operator==(const DaySums&) const = default;
};

// The newest day that is closed, or is being closed.
std::optional<std::int64_t> newest_closed_day(db::Tx& tx);
// The day of the first transaction after `day`, if there is one.
std::optional<std::int64_t> next_day_with_transactions(db::Tx& tx, std::int64_t day);
// The newest day whose time to be closed has come.
std::int64_t newest_due_day(Instant now);

// The next day that has to be closed: one that begin_closing() was called for, or else the oldest
// one that is due.
std::optional<std::int64_t> next_to_close(db::Tx& tx);
// From now on nothing is posted on the day, nor on earlier ones. Does nothing if that is so.
void begin_closing(db::Tx& tx, std::int64_t day);
// Stores what was read of the day. Returns the hash that ends the chain. Does nothing, and returns
// an empty text, if the day isn't being closed.
std::string end_closing(db::Tx& tx, std::int64_t day, const DaySums& sums);

// Checks the rows of the closed days from `first` to `last` against each other: their numbers and
// hashes, and the chain, in which the first one follows the row before it.
Finding check_chain(db::Tx& tx, std::int64_t first = 0,
                    std::int64_t last = std::numeric_limits<std::int64_t>::max());

// Reads all rows of a day, in steps that may have snapshots of their own if the day is closed.
// Finds transactions whose postings don't sum to 0 or that are of another day, rows of days.h that
// don't say what was posted, and accounts that don't say what their newest row does. Needs memory
// for each account that something was posted on.
class DayWalk {
 public:
  // For a day that is closed, or is being closed. Begins after the end of the closed day before it,
  // so that no transaction is left out.
  DayWalk(db::Tx& tx, std::int64_t day);
  // For an open day. Begins after the end of the day `before`, which may be open too.
  DayWalk(std::int64_t day, std::int64_t before);
  std::int64_t day() const { return day_; }

  // Reads about `left` transactions and rows of days.h, and subtracts from `left` what it read:
  // more only if more transactions are of one millisecond. Returns whether that was all; if not,
  // nothing is left.
  bool step(db::Tx& tx, int& left);
  // The number of postings and the violations, each of which names the day.
  const Finding& finding() const { return finding_; }
  // After the last step.
  const DaySums& sums() const { return sums_; }

 private:
  enum class Phase { transactions, days, kinds, end };
  struct Open;  // the transaction whose postings are being read

  // They subtract from `left` how many rows they read, and return whether those were all.
  bool read_transactions(db::Tx& tx, int& left);
  bool read_days(db::Tx& tx, int& left);
  bool read_kinds(db::Tx& tx, int& left);
  std::int64_t end_of_some(db::Tx& tx, int limit) const;
  void begin(Open& open, const db::Query& row);
  void count(Open& open, const db::Query& row);
  void end(db::Tx& tx, const Open& open);
  void check_charge(db::Tx& tx, const Open& open);
  void compare(db::Tx& tx, const std::string& account_id, const Totals& posted);
  void end_kinds();
  void violation(const std::string& what);

  std::int64_t day_;
  std::int64_t next_;  // the numbers (numbers.h) of the transactions that weren't read yet
  std::int64_t end_;
  std::string after_;  // the key of the row of kinds that was read last
  std::string after_kind_;
  Phase phase_ = Phase::transactions;
  // What was posted and not yet compared with rows of days.h.
  std::map<std::string, Totals> accounts_;
  std::map<std::pair<std::string, std::string>, KindSum> kinds_;
  DaySums sums_;
  Finding finding_;
};

// Reads all that is left of the walk.
void finish(db::Tx& tx, DayWalk& walk);
// Reads the closed day again, all at once. Returns what the walk finds, and whether the numbers and
// the hash are others now; `checked` is 1.
Finding check_closed_day(db::Tx& tx, std::int64_t day);
// Compares a walk that has ended with the row of its closed day; `checked` is 1.
Finding compared(db::Tx& tx, const DayWalk& walk);
// The first closed day after `day` that was read to its end.
std::optional<std::int64_t> next_closed_day(db::Tx& tx, std::int64_t day);

}  // namespace berth::ledger
