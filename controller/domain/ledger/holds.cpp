#include "controller/domain/ledger/holds.h"

#include <stdexcept>
#include <vector>

#include "controller/base/id.h"
#include "controller/db/enum_column.h"

namespace berth::holds {
namespace {

const std::string select_holds = R"(
    SELECT id, source_id, amount, purpose, state, created_at, expires_at
    FROM ledger_holds )";

Hold hold_of(const db::Query& row) {
  return {.id = row.text("id"),
          .source_id = row.text("source_id"),
          .amount = row.integer("amount"),
          .purpose = row.text("purpose"),
          .state = db::enum_of<State>(row, "state"),
          .created_at = row.instant("created_at"),
          .expires_at = row.instant("expires_at")};
}

std::vector<Hold> select(db::Query rows) {
  std::vector<Hold> holds;
  while (rows.next()) holds.push_back(hold_of(rows));
  return holds;
}

ledger::Account account_of(db::Tx& tx, const std::string& id) {
  auto rows = tx.query(R"(
      SELECT kind, owner
      FROM ledger_accounts
      WHERE id = $1)",
                       id);
  if (!rows.next()) throw std::logic_error("a hold's account doesn't exist");
  return {.kind = rows.text("kind"), .owner = rows.text("owner")};
}

// For a hold whose points weren't on the reservation account: another write has closed it since it
// was read, or the ledger is wrong.
[[noreturn]] void throw_missing(db::Tx& tx, const std::string& id) {
  const auto hold = find(tx, id);
  if (hold && hold->state == State::open) throw std::logic_error("a hold's points are missing");
  throw db::Overtaken("a hold was closed by another write");
}

// The last step, after the accounts' rows were changed: see `lock_accounts`.
void close(db::Tx& tx, const std::string& id, State state) {
  const int rows = tx.execute(R"(
      UPDATE ledger_holds
      SET state = $2, closed_at = $3
      WHERE id = $1 AND state = 'open')",
                              id, to_string(state), tx.now());
  if (rows == 0) throw db::Overtaken("a hold was closed by another write");
}

// Needs the lock of the accounts.
void give_back(db::Tx& tx, const Hold& hold, const ledger::Account& source, State state) {
  const auto moved = ledger::post(tx, {.kind = "hold_released",
                                       .from = ledger::reservation_account(source),
                                       .to = source,
                                       .amount = hold.amount,
                                       .memo = hold.purpose});
  if (!moved) throw_missing(tx, hold.id);
  close(tx, hold.id, state);
}

void lock_and_give_back(db::Tx& tx, const Hold& hold, State state) {
  const ledger::Account source = account_of(tx, hold.source_id);
  lock_accounts(tx, source);
  give_back(tx, hold, source, state);
}

}  // namespace

void lock_accounts(db::Tx& tx, const ledger::Account& source) {
  ledger::lock(tx, source);
  ledger::lock(tx, ledger::reservation_account(source));
}

std::optional<Hold> place(db::Tx& tx, const Request& request) {
  const ledger::Account held = ledger::reservation_account(request.source);
  ledger::open_account(tx, held);
  const auto moved = ledger::post(tx, {.kind = "hold_placed",
                                       .from = request.source,
                                       .to = held,
                                       .amount = request.amount,
                                       .memo = std::string(request.purpose)});
  if (!moved) return std::nullopt;
  const std::string id = new_uuid(tx.now());
  tx.execute(R"(
      INSERT INTO ledger_holds (id, source_id, held_id, amount, purpose, created_at, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7))",
             id, request.source.id(), held.id(), request.amount, request.purpose, tx.now(),
             tx.now() + request.life);
  return find(tx, id);
}

std::optional<Hold> find(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_holds + R"(WHERE id = $1)";
  auto rows = tx.query(sql, id);
  return rows.next() ? std::optional(hold_of(rows)) : std::nullopt;
}

std::optional<std::string> post(db::Tx& tx, const std::string& id, const ledger::Account& to,
                                std::string_view kind, const std::string& memo) {
  const auto hold = find(tx, id);
  if (!hold || hold->state != State::open || hold->expires_at <= tx.now()) return std::nullopt;
  const auto moved =
      ledger::post(tx, {.kind = kind,
                        .from = ledger::reservation_account(account_of(tx, hold->source_id)),
                        .to = to,
                        .amount = hold->amount,
                        .memo = memo});
  if (!moved) throw_missing(tx, id);
  close(tx, id, State::posted);
  return moved;
}

bool void_hold(db::Tx& tx, const std::string& id) {
  const auto hold = find(tx, id);
  if (!hold || hold->state != State::open) return false;
  lock_and_give_back(tx, *hold, State::voided);
  return true;
}

std::int64_t void_all(db::Tx& tx, const ledger::Account& source) {
  static const std::string sql = select_holds + R"(
      WHERE source_id = $1 AND state = 'open'
      ORDER BY id)";
  std::int64_t points = 0;
  lock_accounts(tx, source);
  for (const Hold& hold : select(tx.query(sql, source.id()))) {
    give_back(tx, hold, source, State::voided);
    points += hold.amount;
  }
  return points;
}

std::int64_t count_open(db::Tx& tx) {
  return tx.number(R"(SELECT count(*) AS open FROM ledger_holds WHERE state = 'open')");
}

bool is_any_due(db::Tx& tx) {
  return tx.number(R"(
      SELECT 1 AS due
      FROM ledger_holds
      WHERE state = 'open' AND expires_at <= $1
      LIMIT 1)",
                   tx.now()) > 0;
}

int expire(db::Tx& tx, int limit) {
  static const std::string sql = select_holds + R"(
      WHERE state = 'open' AND expires_at <= $1
      ORDER BY expires_at
      LIMIT $2)";
  const auto due = select(tx.query(sql, tx.now(), limit));
  for (const Hold& hold : due) lock_and_give_back(tx, hold, State::expired);
  return int(due.size());
}

bool is_any_old(db::Tx& tx) {
  return tx.number(
             R"(
      SELECT 1
      FROM ledger_holds
      WHERE state <> 'open' AND closed_at <= $1
      LIMIT 1)",
             tx.now() - closed_kept_for) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  return tx.execute(
      R"(
      DELETE FROM ledger_holds
      WHERE id IN (SELECT id
                   FROM ledger_holds
                   WHERE state <> 'open' AND closed_at <= $1
                   LIMIT $2))",
      tx.now() - closed_kept_for, limit);
}

}  // namespace berth::holds
