#include "controller/domain/ledger/ledger.h"

#include <stdexcept>

#include "controller/base/error.h"
#include "controller/base/id.h"

namespace berth::ledger {
namespace {

// A conditional UPDATE checks the balance and takes the points; its row count tells whether there
// were enough. The issuance account may go down to -max_points.
bool take(db::Tx& tx, const Account& account, std::int64_t amount) {
  return tx.execute(R"(
      UPDATE ledger_accounts
      SET balance = balance - $2
      WHERE id = $1 AND (balance >= $2 OR (kind = 'issuance' AND balance - $2 >= $3)))",
                    account.id(), amount, -max_points) == 1;
}

bool give(db::Tx& tx, const Account& account, std::int64_t amount) {
  return tx.execute(R"(
      UPDATE ledger_accounts
      SET balance = balance + $2
      WHERE id = $1 AND balance + $2 <= $3)",
                    account.id(), amount, max_points) == 1;
}

// Returns false, and changes nothing, if `from` has too few points.
bool move(db::Tx& tx, const Leg& leg) {
  if (leg.amount < 1 || leg.amount > max_points)
    throw std::logic_error("a movement must have from 1 to max_points points");
  if (leg.from.id() == leg.to.id())
    throw std::logic_error("a movement must have two different accounts");
  if (!take(tx, leg.from, leg.amount)) return false;
  if (!give(tx, leg.to, leg.amount))
    throw invalid_field("amount", "would make the balance exceed 2^53-1");
  return true;
}

void take_back(db::Tx& tx, const Leg& leg) {
  if (!take(tx, leg.to, leg.amount) || !give(tx, leg.from, leg.amount))
    throw std::logic_error("a movement couldn't be reverted");
}

}  // namespace

Account user_account(const std::string& user_id) { return {"user", user_id}; }
Account app_account(const std::string& app_id) { return {"app", app_id}; }
Account campaign_account(const std::string& campaign_id) { return {"campaign", campaign_id}; }
Account reservation_account(const Account& source) { return {"reservation", source.owner}; }
Account treasury() { return {"treasury", ""}; }
Account issuance() { return {"issuance", ""}; }

void open_account(db::Tx& tx, const Account& account) {
  tx.execute(R"(
      INSERT INTO ledger_accounts (id, kind, owner)
      VALUES ($1, $2, $3)
      ON CONFLICT DO NOTHING)",
             account.id(), account.kind, account.owner);
}

std::int64_t balance(db::Tx& tx, const Account& account) {
  return tx.number(R"(SELECT balance FROM ledger_accounts WHERE id = $1)", account.id());
}

std::optional<std::string> post(db::Tx& tx, const Movement& movement) {
  return post(tx, Transaction{.kind = movement.kind,
                              .legs = {{movement.from, movement.to, movement.amount}},
                              .memo = movement.memo});
}

std::optional<std::string> post(db::Tx& tx, const Transaction& transaction) {
  if (transaction.legs.empty() || transaction.legs.size() > max_legs)
    throw std::logic_error("a transaction has no or too many movements");
  for (size_t i = 0; i < transaction.legs.size(); ++i) {
    if (move(tx, transaction.legs[i])) continue;
    while (i > 0) take_back(tx, transaction.legs[--i]);
    return std::nullopt;
  }
  const std::string id = new_uuid(tx.now());
  tx.execute(R"(INSERT INTO ledger_transactions (id, kind, memo, at) VALUES ($1, $2, $3, $4))", id,
             transaction.kind, transaction.memo, tx.now());
  const auto entry = [&](const Account& account, std::int64_t amount) {
    tx.execute(R"(
        INSERT INTO ledger_postings (transaction_id, account_id, amount)
        VALUES ($1, $2, $3))",
               id, account.id(), amount);
  };
  for (const Leg& leg : transaction.legs) {
    entry(leg.from, -leg.amount);
    entry(leg.to, leg.amount);
    if (leg.to.kind == "app") tx.notify(db::Topic::app_balance, leg.to.owner);
    if (leg.to.kind == "campaign") tx.notify(db::Topic::campaign, leg.to.owner);
  }
  return id;
}

std::string mint(db::Tx& tx, const Account& to, std::int64_t amount, const std::string& reason) {
  open_account(tx, issuance());
  open_account(tx, to);
  const auto id =
      post(tx, {.kind = "mint", .from = issuance(), .to = to, .amount = amount, .memo = reason});
  if (!id) throw invalid_field("amount", "would make the total of minted points exceed 2^53-1");
  return *id;
}

}  // namespace berth::ledger
