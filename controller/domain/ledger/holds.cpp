#include "controller/domain/ledger/holds.h"

#include <stdexcept>
#include <vector>

#include "controller/base/id.h"
#include "controller/db/enum_column.h"

namespace berth::holds {
namespace {

const std::string select_holds = R"(
    SELECT h.id, a.kind AS source_kind, a.owner AS source_owner, h.amount, h.purpose, h.state,
           h.created_at, h.expires_at
    FROM ledger_holds h
    JOIN ledger_accounts a ON a.id = h.source_id )";

Hold hold_of(const db::Query& row) {
  return {.id = row.text("id"),
          .source = {.kind = row.text("source_kind"), .owner = row.text("source_owner")},
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

// For a hold whose points weren't on the reservation account: another write has closed it since it
// was read, or the ledger is wrong.
[[noreturn]] void throw_missing(db::Tx& tx, const std::string& id) {
  const auto hold = find(tx, id);
  if (hold && hold->state == State::open) throw std::logic_error("a hold's points are missing");
  throw db::Overtaken("a hold was closed by another write");
}

// The last step, after the accounts' rows were changed: see `lock_accounts`.
void close(db::Tx& tx, const std::string& id, State state) {
  tx.require_change(R"(
      UPDATE ledger_holds
      SET state = $2, closed_at = $3
      WHERE id = $1 AND state = 'open')",
                    id, to_string(state), tx.now());
}

// Needs the lock of the accounts.
void give_back(db::Tx& tx, const Hold& hold, State state) {
  const auto moved = ledger::post(tx, {.kind = "hold_released",
                                       .from = ledger::reservation_account(hold.source),
                                       .to = hold.source,
                                       .amount = hold.amount,
                                       .memo = hold.purpose});
  if (!moved) throw_missing(tx, hold.id);
  close(tx, hold.id, state);
}

void lock_and_give_back(db::Tx& tx, const Hold& hold, State state) {
  lock_accounts(tx, hold.source);
  give_back(tx, hold, state);
}

}  // namespace

void lock_accounts(db::Tx& tx, const ledger::Account& source) {
  ledger::lock(tx, source);
  ledger::lock(tx, ledger::reservation_account(source));
}

std::optional<Hold> place(db::Tx& tx, const Request& request) {
  const ledger::Account held = ledger::reservation_account(request.source);
  if (!request.has_account) ledger::open_account(tx, held);
  const auto moved = ledger::post(tx, {.kind = "hold_placed",
                                       .from = request.source,
                                       .to = held,
                                       .amount = request.amount,
                                       .memo = std::string(request.purpose)});
  if (!moved) return std::nullopt;
  Hold hold = {.id = new_uuid(tx.now()),
               .source = request.source,
               .amount = request.amount,
               .purpose = std::string(request.purpose),
               .created_at = tx.now(),
               .expires_at = tx.now() + request.life};
  tx.execute_later(R"(
      INSERT INTO ledger_holds (id, source_id, held_id, amount, purpose, created_at, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7))",
                   hold.id, hold.source.id(), held.id(), hold.amount, hold.purpose, hold.created_at,
                   hold.expires_at);
  return hold;
}

std::optional<Hold> find(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_holds + R"(WHERE h.id = $1)";
  auto rows = tx.query(sql, id);
  return rows.next() ? std::optional(hold_of(rows)) : std::nullopt;
}

std::optional<std::string> post(db::Tx& tx, const Hold& hold, const ledger::Account& to,
                                std::string_view kind, const std::string& memo) {
  if (hold.state != State::open || hold.expires_at <= tx.now()) return std::nullopt;
  const auto moved = ledger::post(tx, {.kind = kind,
                                       .from = ledger::reservation_account(hold.source),
                                       .to = to,
                                       .amount = hold.amount,
                                       .memo = memo});
  if (!moved) throw_missing(tx, hold.id);
  close(tx, hold.id, State::posted);
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
      WHERE h.source_id = $1 AND h.state = 'open'
      ORDER BY h.id)";
  std::int64_t points = 0;
  lock_accounts(tx, source);
  for (const Hold& hold : select(tx.query(sql, source.id()))) {
    give_back(tx, hold, State::voided);
    points += hold.amount;
  }
  return points;
}

std::int64_t sum_open(db::Tx& tx) {
  return tx.number(R"(SELECT coalesce(sum(amount), 0) FROM ledger_holds WHERE state = 'open')");
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
      WHERE h.state = 'open' AND h.expires_at <= $1
      ORDER BY h.expires_at
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
