#include "controller/domain/ledger/memo_erasure.h"

#include <vector>

namespace berth::ledger {
namespace {

struct Progress {
  std::string account_id;
  std::int64_t up_to = 0;  // the number of the last transaction that was looked at
};

std::optional<Progress> next(db::Tx& tx, const std::string& user_id) {
  auto rows = tx.query(
      R"(
      SELECT account_id, up_to
      FROM memo_erasures
      WHERE user_id = $1
      LIMIT 1)",
      user_id);
  if (!rows.next()) return std::nullopt;
  return Progress{.account_id = rows.text("account_id"), .up_to = rows.integer("up_to")};
}

// Returns the numbers of the account's next transactions, and advances `progress` past them.
std::vector<std::int64_t> transactions(db::Tx& tx, Progress& progress, int limit) {
  std::vector<std::int64_t> numbers;
  auto rows = tx.query(
      R"(
      SELECT number
      FROM (SELECT number
            FROM (SELECT p.transaction_number AS number
                  FROM ledger_postings p
                  JOIN ledger_accounts a ON a.number = p.account_number
                  WHERE a.id = $1 AND p.incoming = 1 AND p.transaction_number > $2
                  ORDER BY p.transaction_number
                  LIMIT CAST($3 AS bigint)) AS incoming
            UNION
            SELECT number
            FROM (SELECT p.transaction_number AS number
                  FROM ledger_postings p
                  JOIN ledger_accounts a ON a.number = p.account_number
                  WHERE a.id = $1 AND p.incoming = 0 AND p.transaction_number > $2
                  ORDER BY p.transaction_number
                  LIMIT CAST($3 AS bigint)) AS outgoing) AS both_ways
      ORDER BY number
      LIMIT CAST($3 AS bigint))",
      progress.account_id, progress.up_to, limit);
  while (rows.next()) numbers.push_back(progress.up_to = rows.integer("number"));
  return numbers;
}

// Goes through at most `limit` transactions of the account. Returns their number.
int erase_some(db::Tx& tx, Progress progress, int limit) {
  const std::vector<std::int64_t> numbers = transactions(tx, progress, limit);
  for (const std::int64_t number : numbers)
    tx.execute(R"(UPDATE ledger_transactions SET memo = '' WHERE number = $1 AND memo <> '')",
               number);
  if (int(numbers.size()) < limit)
    tx.execute(R"(DELETE FROM memo_erasures WHERE account_id = $1)", progress.account_id);
  else
    tx.execute(R"(UPDATE memo_erasures SET up_to = $2 WHERE account_id = $1)", progress.account_id,
               progress.up_to);
  return int(numbers.size());
}

}  // namespace

void erase_memos_later(db::Tx& tx, const Account& account, const std::string& user_id) {
  tx.execute(
      R"(
      INSERT INTO memo_erasures (account_id, user_id)
      SELECT id, CAST($2 AS text)
      FROM ledger_accounts
      WHERE id = $1)",
      account.id(), user_id);
}

int erase_memos(db::Tx& tx, const std::string& user_id, int limit) {
  int seen = 0;
  while (seen < limit) {
    const auto progress = next(tx, user_id);
    if (!progress) break;
    seen += erase_some(tx, *progress, limit - seen) + 1;  // and the row of memo_erasures
  }
  return seen;
}

bool has_memos(db::Tx& tx, const std::string& user_id) {
  return tx.number(R"(SELECT 1 FROM memo_erasures WHERE user_id = $1 LIMIT 1)", user_id) > 0;
}

}  // namespace berth::ledger
