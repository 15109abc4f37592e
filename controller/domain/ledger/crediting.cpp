#include "controller/domain/ledger/crediting.h"

#include <algorithm>

#include "controller/domain/ledger/numbers.h"
#include "controller/domain/ledger/transaction_places.h"

namespace berth::ledger {
namespace {

Changed changed_of(const db::Query& rows) {
  return {
      .number = rows.integer("number"),
      .totals = Totals{.credited = rows.integer("credited"), .debited = rows.integer("debited")},
      .bonus = rows.integer("bonus")};
}

// Where one write runs at a time, each credit changes its account's row.
class OneWriter final : public Crediting {
 public:
  bool may_have_pending(const Account& /*account*/) const override { return false; }
  bool has_foreign_pending() const override { return true; }

  bool runs_ahead() const override { return false; }
  // SQLite would build a table in memory for what a statement returns, which takes longer than
  // reading the row again.
  const std::string& text_of(const RowChange& change) const override { return change.update; }
  std::optional<Changed> changed(db::Tx& tx, const Account& account,
                                 db::Query& started) const override {
    if (started.run() == 0) return std::nullopt;
    auto rows = tx.query(R"(
        SELECT number, credited, debited, bonus
        FROM ledger_accounts
        WHERE id = $1)",
                         account.id());
    rows.next();
    return changed_of(rows);
  }

  void look_at_days(db::Tx& /*tx*/, const Account& /*one*/, const Account& /*other*/,
                    std::optional<db::Query>& /*days*/) const override {}
  // No account has sums of a later day than that of the newest transaction.
  std::int64_t first_day(db::Tx& tx, std::optional<db::Query>& /*days*/,
                         std::int64_t newest) const override {
    return std::max(utc_day(time_of_number(newest)), 1 + tx.number(R"(
        SELECT coalesce(max(day), -1)
        FROM ledger_closed_days)"));
  }

  std::optional<db::Query> place_later(db::Tx& /*tx*/) const override { return std::nullopt; }
  std::int64_t newest_transaction(db::Tx& tx) const override {
    return ledger::newest_transaction(tx);
  }
  std::int64_t add_transaction(db::Tx& tx, const TransactionRow& row, std::int64_t newest,
                               std::optional<db::Query>& /*place*/) const override {
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

  bool runs_ahead() const override { return true; }
  const std::string& text_of(const RowChange& change) const override {
    return change.update_and_return;
  }
  std::optional<Changed> changed(db::Tx& /*tx*/, const Account& /*account*/,
                                 db::Query& started) const override {
    return started.next() ? std::optional(changed_of(started)) : std::nullopt;
  }

  // This is a statement of its own, after those that locked the accounts' rows: in a write with row
  // locks, one of these would not see what was committed while it waited for the lock. Such a write
  // may be overtaken by whoever closes a day; that happens closing_margin after its end, which is
  // longer than any write runs.
  void look_at_days(db::Tx& tx, const Account& one, const Account& other,
                    std::optional<db::Query>& days) const override {
    days.emplace(tx.query_later(R"(
        SELECT coalesce(max(day), 0) AS day
        FROM (
          SELECT max(day) + 1 AS day FROM ledger_closed_days
          UNION ALL
          SELECT max(day) AS day FROM ledger_days WHERE account_id = $1
          UNION ALL
          SELECT max(day) AS day FROM ledger_days WHERE account_id = $2
        ) AS days)",
                                one.id(), other.id()));
  }
  std::int64_t first_day(db::Tx& /*tx*/, std::optional<db::Query>& days,
                         std::int64_t /*newest*/) const override {
    days->next();
    return days->integer("day");
  }

  std::optional<db::Query> place_later(db::Tx& tx) const override { return next_place_later(tx); }
  std::int64_t newest_transaction(db::Tx& /*tx*/) const override { return 0; }
  std::int64_t add_transaction(db::Tx& tx, const TransactionRow& row, std::int64_t /*newest*/,
                               std::optional<db::Query>& place) const override {
    place->next();
    return add_transaction_at(tx, row, place->integer("place"));
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
