#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/db/database.h"

// The points ledger: double entry, append-only. Nothing else touches a balance. After the double
// entry of Beancount and TigerBeetle: a transaction's postings sum to 0, a balance is the sum of
// its account's postings, all balances sum to 0 (issuance is minus what was minted).
namespace berth::ledger {

inline constexpr std::int64_t max_points = (std::int64_t(1) << 53) - 1;

struct Account {
  std::string kind;   // user, app, campaign, reservation, treasury, issuance
  std::string owner;  // empty for treasury and issuance, and for what the treasury reserves
  std::string id() const { return owner.empty() ? kind : kind + ":" + owner; }
};
Account user_account(const std::string& user_id);
Account app_account(const std::string& app_id);
Account campaign_account(const std::string& campaign_id);
// Where the holds on `source` stand (holds.h); it has the same owner.
Account reservation_account(const Account& source);
Account treasury();
Account issuance();

// Makes the account with a balance of 0 where it doesn't exist.
void open_account(db::Tx& tx, const Account& account);
// 0 where the account doesn't exist.
std::int64_t balance(db::Tx& tx, const Account& account);

struct Movement {
  std::string_view kind;  // mint, deployment, …
  Account from;
  Account to;
  std::int64_t amount = 0;  // 1 to max_points
  std::string memo;
};
// Posts the movement and returns the transaction's id; nothing, and no change, where `from` has
// less. Both accounts exist. Throws validation_failed where `to` would exceed max_points.
std::optional<std::string> post(db::Tx& tx, const Movement& movement);

// One transaction of several movements: all of them or none.
struct Leg {
  Account from;
  Account to;
  std::int64_t amount = 0;  // 1 to max_points
};
struct Transaction {
  std::string_view kind;
  std::vector<Leg> legs;  // 1 to max_legs
  std::string memo;
};
inline constexpr size_t max_legs = 16;
// As above; nothing, and no change, where one of them has too little, looked at in their order: a
// leg may pass on what an earlier one brought.
std::optional<std::string> post(db::Tx& tx, const Transaction& transaction);

// Points come into being here alone.
std::string mint(db::Tx& tx, const Account& to, std::int64_t amount, const std::string& reason);

}  // namespace berth::ledger
