#include "controller/domain/ledger/old_postings.h"

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "controller/base/id.h"
#include "controller/domain/ledger/transaction_rows.h"

namespace berth::ledger {
namespace {

constexpr std::chrono::seconds retry_after{30};

std::vector<std::string> different(db::Query rows, int limit) {
  std::vector<std::string> ids;
  while (int(ids.size()) < limit && rows.next())
    if (std::string id = rows.text("id"); ids.empty() || ids.back() != id)
      ids.push_back(std::move(id));
  return ids;
}

// The newest transactions, newest first. The ids of postings rise from transaction to transaction.
std::vector<std::string> newest(db::Tx& tx, int limit) {
  auto ids = different(tx.query(R"(
      SELECT transaction_id AS id
      FROM ledger_postings_old
      ORDER BY ledger_postings_old.id DESC)"),
                       limit);
  if (!ids.empty()) return ids;
  // A sound ledger has no transactions without postings. The audit finds them after the move, too.
  return different(tx.query(R"(
      SELECT id
      FROM ledger_transactions_old
      ORDER BY id DESC)"),
                   limit);
}

// Returns the number of its postings.
int move_transaction(db::Tx& tx, const std::string& id) {
  std::int64_t number = 0;
  std::int64_t kind = 0;
  {
    auto rows = tx.query(R"(
        SELECT kind, memo, at
        FROM ledger_transactions_old
        WHERE id = $1)",
                         id);
    if (!rows.next()) return 0;  // its postings weren't neighbours, and it is moved
    kind = KindLookup(tx, rows.text("kind")).number();
    const std::string memo = rows.text("memo");
    number = add_transaction_before(
        tx, {.id = id, .kind = kind, .memo = memo, .at = rows.instant("at")});
  }
  const int copied = tx.execute(R"(
      INSERT INTO ledger_postings (account_number, incoming, transaction_number, leg, kind, amount)
      SELECT a.number, CASE WHEN p.amount > 0 THEN 1 ELSE 0 END, CAST($2 AS bigint),
             row_number() OVER (ORDER BY p.id) - 1, CAST($3 AS bigint), p.amount
      FROM ledger_postings_old p
      JOIN ledger_accounts a ON a.id = p.account_id
      WHERE p.transaction_id = $1)",
                                id, number, kind);
  const int removed =
      tx.execute(R"(DELETE FROM ledger_postings_old WHERE transaction_id = $1)", id);
  if (copied != removed) throw std::logic_error("not all postings of " + id + " could be moved");
  tx.execute(R"(DELETE FROM ledger_transactions_old WHERE id = $1)", id);
  return copied;
}

// The indexes of old postings by account. Removing a row from them costs a page of each, because
// neighbours in time are apart in them.
constexpr std::array index_drops = {
    "DROP INDEX ledger_postings_by_account", "DROP INDEX ledger_postings_in",
    "DROP INDEX ledger_postings_out", "DROP INDEX ledger_postings_in_by_kind",
    "DROP INDEX ledger_postings_out_by_kind"};

// Returns whether there was one. It holds ids, times and amounts, which stay in the ledger for
// good, so its pages needn't be overwritten, which would take many times as long.
bool drop_next_index(db::Tx& tx) {
  const std::int64_t left = tx.number(R"(SELECT indexes FROM ledger_old_rows WHERE postings > 0)");
  if (left == 0) return false;
  tx.number("PRAGMA secure_delete = FAST");
  try {
    tx.execute(index_drops.at(static_cast<size_t>(left - 1)));
  } catch (...) {
    tx.number("PRAGMA secure_delete = ON");
    throw;
  }
  tx.number("PRAGMA secure_delete = ON");
  tx.execute(R"(UPDATE ledger_old_rows SET indexes = $1)", left - 1);
  return true;
}

}  // namespace

std::optional<OldRows> old_rows(db::Tx& tx) {
  auto rows = tx.query(R"(SELECT postings, moved FROM ledger_old_rows WHERE postings > 0)");
  if (!rows.next()) return std::nullopt;
  return OldRows{.postings = rows.integer("postings"), .moved = rows.integer("moved")};
}

Error old_rows_needed() {
  Error refusal(Code::unavailable,
                "older entries of the ledger are being moved into a new form, which goes on while "
                "everything else works; try again later");
  refusal.retry_after = retry_after;
  return refusal;
}

void require_no_old_rows(db::Tx& tx) {
  if (old_rows(tx)) throw old_rows_needed();
}

std::optional<Instant> newest_old_posting(db::Tx& tx, const Account& account) {
  if (!old_rows(tx)) return std::nullopt;
  std::string id;
  {
    auto rows = tx.query(R"(
        SELECT id
        FROM ledger_transactions_old
        ORDER BY id DESC
        LIMIT 1)");
    if (!rows.next()) return std::nullopt;
    id = rows.text("id");
  }
  const Instant newest = is_uuid(id) ? time_of_id(parts_of_id(id)) : Instant::max();
  const bool is_older = tx.number(R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM ledger_days
            WHERE account_id = $1 AND day <= $2
            LIMIT 1) AS days)",
                                  account.id(), utc_day(newest)) > 0;
  return is_older ? std::optional(newest) : std::nullopt;
}

bool has_old_tables(db::Tx& tx) { return tx.number(R"(SELECT count(*) FROM ledger_old_rows)") > 0; }

void move_old_rows(db::Tx& tx, int limit) {
  if (!has_old_tables(tx) || drop_next_index(tx)) return;
  const std::vector<std::string> ids = newest(tx, limit);
  std::int64_t moved = 0;
  for (const std::string& id : ids) moved += move_transaction(tx, id);
  if (ids.empty()) {
    tx.execute("DROP TABLE ledger_postings_old");
    tx.execute("DROP TABLE ledger_transactions_old");
    tx.execute(R"(DELETE FROM ledger_old_rows)");
  } else {
    tx.execute(R"(UPDATE ledger_old_rows SET moved = moved + $1)", moved);
  }
}

}  // namespace berth::ledger
