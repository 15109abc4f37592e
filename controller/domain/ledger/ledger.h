#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/db/database.h"

// The points ledger: double-entry and append-only. Nothing else changes a balance. As in Beancount
// and TigerBeetle, the postings of a transaction sum to 0, a balance is the sum of its account's
// postings, and all balances sum to 0 (the balance of the issuance account is minus what was
// minted).
namespace berth::ledger {

inline constexpr std::int64_t max_points = (std::int64_t(1) << 53) - 1;

struct Account {
  std::string kind;   // user, app, campaign, reservation, treasury or issuance
  std::string owner;  // empty for treasury and issuance, and for the treasury's reservation account
  std::string id() const { return owner.empty() ? kind : kind + ":" + owner; }
  bool operator==(const Account&) const = default;
};
Account user_account(const std::string& user_id);
Account app_account(const std::string& app_id);
Account campaign_account(const std::string& campaign_id);
// The account that the holds on `source` are on (see holds.h). It has the same owner.
Account reservation_account(const Account& source);
Account treasury();
Account issuance();

// Creates the account with a balance of 0 if it doesn't exist.
void open_account(db::Tx& tx, const Account& account);
// Keeps other writes from changing the account until the end of this one, and lets the next
// statements see what they have changed. Only writes with row locks need it.
void lock(db::Tx& tx, const Account& account);
// The account's balance; 0 if the account doesn't exist.
std::int64_t balance(db::Tx& tx, const Account& account);
// Starts the statement that reads it (Tx::query_later): `points` in one row, or no row if the
// account doesn't exist.
db::Query balance_later(db::Tx& tx, const Account& account);

// Points that are held for what runs by the hour (deployments/metering/settlement.h) stay on the
// account, as a part of its balance, but can't leave it: whoever posts a movement has the others
// alone. Unlike the holds of holds.h they are a number of the account and no movement, because they
// change all the time. The audit finds more held than an account has.
std::int64_t held(db::Tx& tx, const Account& account);
// Sets how many of the account's points are held. Returns false, and changes nothing, if the
// account has fewer.
bool set_held(db::Tx& tx, const Account& account, std::int64_t points);
// The balance less what is held: what may leave the account.
std::int64_t spendable(db::Tx& tx, const Account& account);
// Returns " (20 of its points are held for what runs by the hour)", to follow a sentence that says
// that the account has too few points; nothing if none are.
std::string words_for_held(db::Tx& tx, const Account& account);

// Bonus points are a part of an account's balance: what the treasury gave its owner for nothing
// (rewards.h). The ledger keeps the mark on them wherever they go, and refuses nothing because of
// it; accounts/bonuses.h says what may be done with them. What goes to the treasury is taken from
// the bonus first, because nobody else gets it. Other movements take it last.
enum class Mark {
  kept,   // the points are what they were
  bonus,  // all of them are a bonus from now on
  last    // they are taken from the bonus last, although they go to the treasury: a gift
};

struct Movement {
  std::string_view kind;  // such as "mint" or "deployment"
  Account from;
  Account to;
  std::int64_t amount = 0;  // 1 to max_points
  std::string memo;
  Mark mark = {};
  // If it is set, exactly so many of the points, at most `amount`, are a bonus of `to`, whatever
  // they were. They are taken from the bonus of `from` first, the others from it last: what is
  // given back of a payment that was partly a bonus.
  std::optional<std::int64_t> bonus_given_back = {};
};
// Posts the movement and returns the id of the transaction. Returns nothing, and changes nothing,
// if `from` has too few points that aren't held. The accounts must exist and differ. Throws
// validation_failed if the balance of `to` would exceed max_points.
std::optional<std::string> post(db::Tx& tx, const Movement& movement);

// What a movement has to do with the bonus points of `from`.
struct Posted {
  std::string id;               // the transaction's
  std::int64_t bonus = 0;       // how many of the points were a bonus
  std::int64_t bonus_left = 0;  // how many of the points that are left are one
};
// Does the same as post().
std::optional<Posted> post_and_tell(db::Tx& tx, const Movement& movement);

// How many of the account's points are a bonus.
std::int64_t bonus(db::Tx& tx, const Account& account);
// All of the account's points are its own from now on.
void end_bonus(db::Tx& tx, const Account& account);

// A transaction of several movements, of which either all or none are posted.
struct Leg {
  Account from;
  Account to;
  std::int64_t amount = 0;  // 1 to max_points
};
struct Transaction {
  std::string_view kind;
  std::vector<Leg> legs;  // 1 to max_legs
  std::string memo;
  Mark mark = {};                                     // the mark of all legs
  std::optional<std::int64_t> bonus_given_back = {};  // as in Movement, for one leg
};
inline constexpr size_t max_legs = 16;
// Does the same as post() of a Movement. The legs are processed in their order, so a leg may pass
// on what an earlier one brought. Returns nothing, and changes nothing, if one of the accounts has
// too few points for its leg.
std::optional<std::string> post(db::Tx& tx, const Transaction& transaction);

// Creates points, which is the only way that points come into existence. Opens the account if it
// doesn't exist. Returns the id of the transaction. Throws validation_failed if the balance, or the
// sum of all minted points, would exceed max_points.
std::string mint(db::Tx& tx, const Account& to, std::int64_t amount, const std::string& reason);

}  // namespace berth::ledger
