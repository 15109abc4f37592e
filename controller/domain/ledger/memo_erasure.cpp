#include "controller/domain/ledger/memo_erasure.h"

#include <vector>

namespace berth::ledger {
namespace {

struct Progress {
  std::string account_id;
  std::int64_t up_to = 0;  // the id of the last posting that was looked at
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

// The transactions of the account's next postings. Moves `progress` behind them.
std::vector<std::string> transactions(db::Tx& tx, Progress& progress, int limit) {
  std::vector<std::string> ids;
  auto rows = tx.query(
      R"(
      SELECT id, transaction_id
      FROM ledger_postings
      WHERE account_id = $1 AND id > $2
      ORDER BY id
      LIMIT $3)",
      progress.account_id, progress.up_to, limit);
  while (rows.next()) {
    progress.up_to = rows.integer("id");
    ids.push_back(rows.text("transaction_id"));
  }
  return ids;
}

// Goes through at most `limit` postings of the account. Returns their number.
int erase_some(db::Tx& tx, Progress progress, int limit) {
  const std::vector<std::string> ids = transactions(tx, progress, limit);
  for (const std::string& id : ids)
    tx.execute(R"(UPDATE ledger_transactions SET memo = '' WHERE id = $1 AND memo <> '')", id);
  if (int(ids.size()) < limit)
    tx.execute(R"(DELETE FROM memo_erasures WHERE account_id = $1)", progress.account_id);
  else
    tx.execute(R"(UPDATE memo_erasures SET up_to = $2 WHERE account_id = $1)", progress.account_id,
               progress.up_to);
  return int(ids.size());
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

}  // namespace berth::ledger
