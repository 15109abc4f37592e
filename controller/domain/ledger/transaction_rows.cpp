#include "controller/domain/ledger/transaction_rows.h"

#include "controller/base/error.h"

namespace berth::ledger {
namespace {

std::int64_t last_place(db::Tx& tx, std::int64_t first) {
  return tx.number(R"(
      SELECT number
      FROM ledger_transactions
      WHERE number >= $1 AND number < $2
      ORDER BY number DESC
      LIMIT 1)",
                   first, first + places);
}

void require_number(const TransactionRow& row, std::int64_t number) {
  if (time_of_number(number) != row.at)
    throw Error(Code::unavailable, "the ledger has no room for another transaction at this time");
}

std::int64_t add(db::Tx& tx, const TransactionRow& row, std::int64_t number) {
  require_number(row, number);
  const IdParts id = parts_of_id(row.id);
  tx.execute(R"(
      INSERT INTO ledger_transactions (number, id_high, id_low, kind, memo)
      VALUES ($1, $2, $3, $4, $5))",
             number, id.high, id.low, row.kind, row.memo);
  return number;
}

}  // namespace

std::int64_t newest_transaction(db::Tx& tx) {
  return tx.number(R"(SELECT coalesce(max(number), 0) FROM ledger_transactions)");
}

std::int64_t add_transaction(db::Tx& tx, const TransactionRow& row, std::int64_t newest) {
  const std::int64_t first = first_number(row.at);
  // The newest one is only of a later time if the clock has gone back.
  const std::int64_t last = newest < first + places ? newest : last_place(tx, first);
  return add(tx, row, last >= first ? last + 1 : first);
}

std::int64_t add_transaction_at(db::Tx& tx, const TransactionRow& row, std::int64_t place) {
  const std::int64_t number = first_number(row.at) + place;
  require_number(row, number);
  const IdParts id = parts_of_id(row.id);
  tx.execute_later(R"(
      INSERT INTO ledger_transactions (number, id_high, id_low, kind, memo)
      VALUES ($1, $2, $3, $4, $5))",
                   number, id.high, id.low, row.kind, row.memo);
  return number;
}

}  // namespace berth::ledger
