#include "controller/domain/ledger/crediting.h"

#include <algorithm>

#include "controller/domain/ledger/numbers.h"

namespace berth::ledger {
namespace {

Changed changed_of(const db::Query& rows) {
  return {
      .number = rows.integer("number"),
      .totals = Totals{.credited = rows.integer("credited"), .debited = rows.integer("debited")},
      .bonus = rows.integer("bonus")};
}

template <typename Values>
db::Query with_values(db::Query query, const Values& values) {
  int number = 1;  // $1 is the account's id
  for (const std::int64_t value : values) query.bind(++number, value);
  return query;
}

// Where one write runs at a time, each credit changes its account's row.
class OneWriter final : public Crediting {
 public:
  bool may_have_pending(const Account& /*account*/) const override { return false; }
  bool has_foreign_pending() const override { return true; }

  // SQLite would build a table in memory for what a statement returns, which takes longer than
  // reading the row again.
  std::optional<Changed> change(db::Tx& tx, const Account& account,
                                const RowChange& change) const override {
    const std::string id = account.id();
    if (with_values(tx.query(change.update, id), change.values).run() == 0) return std::nullopt;
    auto rows = tx.query(R"(
        SELECT number, credited, debited, bonus
        FROM ledger_accounts
        WHERE id = $1)",
                         id);
    rows.next();
    return changed_of(rows);
  }

  // No account has sums of a later day than that of the newest transaction.
  std::int64_t first_day(db::Tx& tx, const std::vector<const Account*>& /*changed*/,
                         std::int64_t newest) const override {
    return std::max(utc_day(time_of_number(newest)), 1 + tx.number(R"(
        SELECT coalesce(max(day), -1)
        FROM ledger_closed_days)"));
  }

  std::int64_t newest_transaction(db::Tx& tx) const override {
    return ledger::newest_transaction(tx);
  }
  std::int64_t add_transaction(db::Tx& tx, const TransactionRow& row,
                               std::int64_t newest) const override {
    return ledger::add_transaction(tx, row, newest);
  }
};

// Where writes collide at a row that several change, credits to apps and the treasury stay pending,
// and nothing is read that all writes change.
class ManyWriters final : public Crediting {
 public:
  bool may_have_pending(const Account& account) const override {
    return account.kind == "app" || account.kind == "treasury";
  }
  bool has_foreign_pending() const override { return false; }

  std::optional<Changed> change(db::Tx& tx, const Account& account,
                                const RowChange& change) const override {
    auto rows = with_values(tx.query(change.update_and_return, account.id()), change.values);
    return rows.next() ? std::optional(changed_of(rows)) : std::nullopt;
  }

  // This is a statement of its own, after those that locked the accounts' rows: in a write with row
  // locks, one of these would not see what was committed while it waited for the lock. Such a write
  // may be overtaken by whoever closes a day; that happens closing_margin after its end, which is
  // longer than any write runs.
  std::int64_t first_day(db::Tx& tx, const std::vector<const Account*>& changed,
                         std::int64_t /*newest*/) const override {
    std::int64_t first = 0;
    for (size_t i = 0; i < changed.size(); i += 2)
      first = std::max(
          first, tx.number(R"(
          SELECT coalesce(max(day), 0) AS day
          FROM (
            SELECT max(day) + 1 AS day FROM ledger_closed_days
            UNION ALL
            SELECT max(day) AS day FROM ledger_days WHERE account_id = $1
            UNION ALL
            SELECT max(day) AS day FROM ledger_days WHERE account_id = $2
          ) AS days)",
                           changed[i]->id(), changed[std::min(i + 1, changed.size() - 1)]->id()));
    return first;
  }

  std::int64_t newest_transaction(db::Tx& /*tx*/) const override { return 0; }
  std::int64_t add_transaction(db::Tx& tx, const TransactionRow& row,
                               std::int64_t /*newest*/) const override {
    return add_transaction_by_sequence(tx, row);
  }
};

}  // namespace

const Crediting& crediting_of(const db::Tx& tx) {
  static const OneWriter one;
  static const ManyWriters many;
  if (tx.writers() == db::Writers::one) return one;
  return many;
}

}  // namespace berth::ledger
