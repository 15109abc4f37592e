#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

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

// A change of an account's row: an UPDATE whose $1 is the account's id and whose other values
// follow. `update_and_return` is the same with and_return_changed behind it.
inline constexpr const char* and_return_changed = R"(RETURNING number, credited, debited, bonus)";
struct RowChange {
  const std::string& update;
  const std::string& update_and_return;
  std::initializer_list<std::int64_t> values;
};

class Crediting {
 public:
  virtual ~Crediting() = default;

  // Whether credits of the account may be pending (pending.h).
  virtual bool may_have_pending(const Account& account) const = 0;
  // Changes the row. Returns nothing if no row was changed.
  virtual std::optional<Changed> change(db::Tx& tx, const Account& account,
                                        const RowChange& change) const = 0;
  // Returns the first day on which accounts may be posted on whose rows were changed:
  // neither closed (closed_days.h) nor before a day that one of them has sums of. `newest` is what
  // newest_transaction() returned.
  virtual std::int64_t first_day(db::Tx& tx, const std::vector<const Account*>& changed,
                                 std::int64_t newest) const = 0;
  // See newest_transaction() and add_transaction() (transaction_rows.h).
  virtual std::int64_t newest_transaction(db::Tx& tx) const = 0;
  virtual std::int64_t add_transaction(db::Tx& tx, const TransactionRow& row,
                                       std::int64_t newest) const = 0;
  // Whether rows that are pending came with the database from another engine, and stay until
  // somebody adds them.
  virtual bool has_foreign_pending() const = 0;
};

// Returns that of the transaction's store.
const Crediting& crediting_of(const db::Tx& tx);

}  // namespace berth::ledger
