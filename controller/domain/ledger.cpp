#include "controller/domain/ledger.h"

#include <stdexcept>

#include "controller/base/error.h"
#include "controller/base/id.h"

namespace berth::ledger {

Account user_account(const std::string& user_id) { return {"user", user_id}; }
Account app_account(const std::string& app_id) { return {"app", app_id}; }
Account treasury() { return {"treasury", ""}; }
Account issuance() { return {"issuance", ""}; }

void open_account(db::Tx& tx, const Account& account) {
  tx.execute(
      "INSERT INTO ledger_accounts (id, kind, owner) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
      account.id(), account.kind, account.owner);
}

std::int64_t balance(db::Tx& tx, const Account& account) {
  return tx.number("SELECT balance FROM ledger_accounts WHERE id = $1", account.id());
}

std::optional<std::string> post(db::Tx& tx, const Movement& movement) {
  if (movement.amount < 1 || movement.amount > max_points)
    throw std::logic_error("a movement of no or too many points");
  if (movement.from.id() == movement.to.id())
    throw std::logic_error("a movement to where it came from");
  // Money is checked where it moves: the row count says whether it was there. Issuance goes down
  // without a floor but max_points.
  const int taken = tx.execute(
      "UPDATE ledger_accounts SET balance = balance - $2 "
      "WHERE id = $1 AND (balance >= $2 OR (kind = 'issuance' AND balance - $2 >= -$3))",
      movement.from.id(), movement.amount, max_points);
  if (taken != 1) return std::nullopt;
  const int given = tx.execute(
      "UPDATE ledger_accounts SET balance = balance + $2 WHERE id = $1 AND balance <= $3 - $2",
      movement.to.id(), movement.amount, max_points);
  if (given != 1) throw invalid_field("amount", "would take the balance beyond 2^53-1");
  const std::string id = new_uuid(tx.now());
  tx.execute("INSERT INTO ledger_transactions (id, kind, memo, at) VALUES ($1, $2, $3, $4)", id,
             movement.kind, movement.memo, tx.now());
  const auto entry = [&](const Account& account, std::int64_t amount) {
    tx.execute(
        "INSERT INTO ledger_postings (transaction_id, account_id, amount) VALUES ($1, $2, $3)", id,
        account.id(), amount);
  };
  entry(movement.from, -movement.amount);
  entry(movement.to, movement.amount);
  return id;
}

std::string mint(db::Tx& tx, const Account& to, std::int64_t amount, const std::string& reason) {
  open_account(tx, issuance());
  open_account(tx, to);
  const auto id =
      post(tx, {.kind = "mint", .from = issuance(), .to = to, .amount = amount, .memo = reason});
  if (!id) throw invalid_field("amount", "would take what was ever minted beyond 2^53-1");
  return *id;
}

}  // namespace berth::ledger
