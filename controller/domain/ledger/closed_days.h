#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/merkle_tree.h"
#include "controller/base/receipt.h"
#include "controller/db/database.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/finding.h"

// Days of the ledger that don't change any more. A UTC day is closed `closing_margin` after its
// end: from then on nothing is posted on it, whatever the clock says (ledger::post() uses the first
// moment after the newest closed day instead). Then all of the day is read, and its row in
// ledger_closed_days gets its sums (DaySums) and a hash that covers these and the row before, which
// makes the rows a chain. So reading a day again shows whether its transactions and postings were
// changed, and reading the rows of the chain shows whether one of these was. The hashes have no
// key, so whoever can write the database can also write a new chain; it then differs from the
// newest hash in berthd's log, and from the days and receipts that others have kept (proofs.h).
//
// Memos aren't covered, because they are emptied when a user is deleted.
namespace berth::ledger {

// How long after its end a day is closed. A clock that is corrected by less changes no time.
inline constexpr Duration closing_margin = std::chrono::hours(1);

// What a row of a closed day says about it.
struct DaySums {
  std::int64_t transactions = 0;
  std::int64_t postings = 0;
  std::int64_t moved = 0;  // the sum of the amounts above 0, or max_points if that is less
  std::string hash;        // SHA-256 in hex
  // That of the tree whose leaves are the transactions in the order in which they are hashed,
  // SHA-256 in hex. Empty for days that were closed before there were trees.
  std::string root;

  bool operator==(const DaySums&) const = default;
};

// A part of the tree of a day: leaves_of_part transactions that follow each other, or fewer if it
// is the last one.
struct TreePart {
  std::string first_id;  // the id of its first transaction
  merkle::Hash root;
};
// So many that a day of a million transactions has 4,000 parts. It is a power of two, as
// merkle::path_of() requires, and must not change, because stored parts have this size.
inline constexpr std::uint64_t leaves_of_part = 256;

// Returns the newest day that is closed or is being closed; nothing if there is none.
std::optional<std::int64_t> newest_closed_day(db::Tx& tx);
// The day of the first transaction after `day`, if there is one.
std::optional<std::int64_t> next_day_with_transactions(db::Tx& tx, std::int64_t day);
// Returns the newest day that may be closed at `now`.
std::int64_t newest_due_day(Instant now);

// Returns the next day that has to be closed: the one that is being closed, or else the oldest one
// with transactions that is due. Returns nothing if there is none.
std::optional<std::int64_t> next_to_close(db::Tx& tx);
// Begins to close the day: from now on nothing is posted on it or on earlier days. Does nothing if
// this was done before.
void begin_closing(db::Tx& tx, std::int64_t day);
// Stores what a walk that has ended has read of its day. Returns the hash that then ends the chain.
// Does nothing, and returns an empty text, if the day isn't being closed.
std::string end_closing(db::Tx& tx, const class DayWalk& walk);

// Checks the rows of the closed days from `first` to `last` against each other: their numbers and
// hashes, and the chain, in which the first one follows the row before it.
Finding check_chain(db::Tx& tx, std::int64_t first = 0,
                    std::int64_t last = std::numeric_limits<std::int64_t>::max());

// Reads all rows of a day, in steps that may have snapshots of their own if the day is closed.
// Finds transactions whose postings don't sum to 0 or that are of another day, rows of days.h that
// differ from what was posted, and accounts that differ from their newest row. Needs memory for
// each account on which something was posted. One thread uses it.
class DayWalk {
 public:
  // What is read. Without the rows of days.h, neither they nor the accounts are compared.
  enum class Scope { all, transactions };

  // For a day that is closed, or is being closed. Begins after the end of the closed day before it,
  // so that no transaction is left out.
  DayWalk(db::Tx& tx, std::int64_t day, Scope scope = Scope::all);
  // For an open day. Begins after the end of the day `before`, which may be open too.
  DayWalk(std::int64_t day, std::int64_t before);
  std::int64_t day() const { return day_; }

  // Reads at most `left` transactions and rows of days.h, and subtracts from `left` how many they
  // were; reads more only to complete a millisecond. Returns whether the walk has ended; if it
  // hasn't, `left` isn't above 0.
  bool step(db::Tx& tx, int& left);
  // The number of postings and the violations, each of which names the day.
  const Finding& finding() const { return finding_; }
  // Complete after the last step.
  const DaySums& sums() const { return sums_; }
  // The parts of the day's tree. Complete after the last step.
  const std::vector<TreePart>& tree() const { return parts_; }

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
  void leave_out_pending(db::Tx& tx);
  void add_leaf(const Open& open, const std::string& text);
  void end_part();
  void end_kinds();
  void violation(const std::string& what);

  std::int64_t day_;
  Scope scope_ = Scope::all;
  std::int64_t next_;  // the numbers (numbers.h) of the transactions that weren't read yet
  std::int64_t end_;
  std::string after_;  // the key of the row of kinds that was read last
  std::string after_kind_;
  Phase phase_ = Phase::transactions;
  // What was posted and not yet compared with rows of days.h.
  std::map<std::string, Totals> accounts_;
  std::map<std::pair<std::string, std::string>, KindSum> kinds_;
  DaySums sums_;
  std::vector<TreePart> parts_;
  std::string part_begins_with_;  // the id of the first transaction of the part
  merkle::Tree part_;             // what was read of the part that hasn't ended
  merkle::Tree tree_;             // of the roots of the others
  Finding finding_;
};

// Calls step() until the walk has ended.
void finish(db::Tx& tx, DayWalk& walk);
// Reads the closed day's transactions again, in this database transaction, but no rows of days.h.
// Returns what the walk finds, and a violation if the sums aren't those of the day's row; `checked`
// is 1.
Finding check_closed_day(db::Tx& tx, std::int64_t day);
// Compares a walk that has ended with the row of its closed day; `checked` is 1.
Finding compared(db::Tx& tx, const DayWalk& walk);
// The first closed day after `day` that was read to its end.
std::optional<std::int64_t> next_closed_day(db::Tx& tx, std::int64_t day);

}  // namespace berth::ledger
