#pragma once

#include <optional>
#include <string>

#include "controller/domain/ledger/day_rows.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/transaction_rows.h"

// The two ways in which the ledger writes what all writes have in common: the rows of accounts and
// the places of transactions in their millisecond. The engine decides which one a store has; both
// store the same. Private to the module.
namespace berth::ledger {

// An account's number and what was ever posted on it, which is empty if the account's row wasn't
// changed because the credit stays pending.
struct Changed {
  std::int64_t number = 0;
  std::optional<Totals> totals;
  std::int64_t bonus = 0;
};

// A change of an account's row: an UPDATE whose $1 is the account's id. `update_and_return` is the
// same with and_return_changed behind it.
inline constexpr const char* and_return_changed = R"(RETURNING number, credited, debited, bonus)";
struct RowChange {
  const std::string& update;
  const std::string& update_and_return;
};

class Crediting {
 public:
  virtual ~Crediting() = default;

  // Whether credits of the account may be pending (pending.h).
  virtual bool may_have_pending(const Account& account) const = 0;
  // Whether statements that were started (Tx::query_later) run together with the next one, so that
  // starting what is probably needed saves round trips. Where they don't, each runs when it is
  // asked for, and those that nobody asks for never run.
  virtual bool runs_ahead() const = 0;
  // The statement of a change, which is started with Tx::query_later and given to changed().
  virtual const std::string& text_of(const RowChange& change) const = 0;
  // Asks what the started change of the account's row has done. Returns nothing if no row was
  // changed.
  virtual std::optional<Changed> changed(db::Tx& tx, const Account& account,
                                         db::Query& started) const = 0;

  // Starts in `days` the statement that first_day() needs for a leg, after those that change the
  // rows of both accounts. Leaves it empty where first_day() needs none.
  virtual void look_at_days(db::Tx& tx, const Account& one, const Account& other,
                            std::optional<db::Query>& days) const = 0;
  // Returns the first day on which the leg's accounts may be posted on: neither closed
  // (closed_days.h) nor before a day that one of them has sums of. `newest` is what
  // newest_transaction() returned.
  virtual std::int64_t first_day(db::Tx& tx, std::optional<db::Query>& days,
                                 std::int64_t newest) const = 0;
  // Starts the statement that chooses a transaction's place in its millisecond, where it doesn't
  // depend on others (transaction_places.h); otherwise null.
  virtual std::optional<db::Query> place_later(db::Tx& tx) const = 0;
  // See newest_transaction() and add_transaction() (transaction_rows.h).
  virtual std::int64_t newest_transaction(db::Tx& tx) const = 0;
  virtual std::int64_t add_transaction(db::Tx& tx, const TransactionRow& row, std::int64_t newest,
                                       std::optional<db::Query>& place) const = 0;
  // Whether rows that are pending came with the database from another engine, and stay until
  // somebody adds them.
  virtual bool has_foreign_pending() const = 0;
};

// Returns that of the transaction's store.
const Crediting& crediting_of(const db::Tx& tx);

}  // namespace berth::ledger
