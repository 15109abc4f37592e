#pragma once

#include <string>

#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/rewards.h"

// What may be done with bonus points, which the treasury gave a user for nothing. Whoever can make
// accounts can make bonuses, so they reach other accounts only within narrow bounds until their
// user has paid for something with points of their own. docs/decisions/points.md says why.
namespace berth::bonuses {

// How many bonus points may reach one person from all others, by all ways together (transfers,
// spending in the apps that they own, gifts), within `window` of the first of them. This is the
// largest sign-up bonus by the defaults, so a new user can spend theirs at once in the app that
// brought them.
inline constexpr std::int64_t most_received = 500;
inline constexpr Duration window = std::chrono::days(30);

// Lets `points` bonus points of a user reach the user `to`. Throws bonus_locked if that exceeds
// what may reach them. No points do nothing.
void let_reach(db::Tx& tx, const std::string& to, std::int64_t points);

// Undoes let_reach() for bonus points that `to` has given back.
void give_back(db::Tx& tx, const std::string& to, std::int64_t points);

// Counts points of their own that the user has spent in somebody else's app. With
// rewards::own_use of them, all points of the user's account become their own, and so do later
// rewards. To be called while the user has bonus points; without any it makes no difference.
// Returns how many points were counted, which is at most rewards::own_use.
std::int64_t count_own_use(db::Tx& tx, const std::string& user_id, std::int64_t points);
// Takes back what was counted, for points that the user got back. What has become theirs stays so.
void discount_own_use(db::Tx& tx, const std::string& user_id, std::int64_t points);

// Throws bonus_locked if a payment of an account that belongs to the user, for something from which
// others may get the points (a campaign), would take some of its bonus, and the user hasn't spent
// that many of their own. The caller checks whether the balance is enough.
void require_own(db::Tx& tx, const ledger::Account& account, const std::string& user_id,
                 std::int64_t points);

}  // namespace berth::bonuses
