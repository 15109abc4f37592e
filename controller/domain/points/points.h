#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/rewards.h"
#include "controller/domain/oauth/debits.h"

// What users do with their points. The functions throw berth::Error. Amounts are 1 to
// ledger::max_points.
namespace berth::points {

inline constexpr size_t max_description_length = 200;  // characters
// How many points of their own a referred user has to spend before the referral is rewarded. Bonus
// points don't count, whoever got them from the treasury, nor does spending in apps of the user's
// own or of their referrer.
inline constexpr std::int64_t referral_use = 100;

struct Spending {
  std::string grant_id;  // the grant of the token
  std::string user_id;
  std::string app_id;
  std::int64_t amount = 0;
  std::string description;
  // Whether the app is known to be the user's own. Otherwise that is looked up where it matters.
  bool in_own_app = false;
  // Whether a webhook or an alert wants the event points.spent of the app; nothing is looked up.
  bool is_told = false;
};
// The events of an app's spends are told in this many orders beside each other, so that one spend
// doesn't wait for the delivery of the one before, and that no more of their rows are kept than of
// so many subjects (app_events::kept_of_a_subject). A power of 16.
inline constexpr int spend_orders = 16;
struct Spent {
  std::string id;            // that of the ledger transaction, by which it can be given back
  std::int64_t balance = 0;  // the user's, afterwards
};
// Moves points from the user to the app. May reward the user's referrer. Throws
// insufficient_balance, bonus_locked or spend_limit_reached.
Spent spend(db::Tx& tx, const Spending& spending, const rewards::Rules& rules);

struct Recipient {  // exactly one of the two is set
  std::optional<std::string> user_id;
  std::optional<std::string> username;
};
// Moves points from one user to another and returns the sender's balance afterwards. Throws
// validation_failed for a transfer to oneself, and unless exactly one of the recipient's names is
// set; user_not_found, also if there is a block between the two, because the description would be a
// way to send a message; insufficient_balance, bonus_locked and spend_limit_reached.
std::int64_t transfer(db::Tx& tx, const debits::Payer& from, const Recipient& to,
                      std::int64_t amount, const std::string& description);

struct ToppedUp {
  std::string id;                // that of the ledger transaction
  std::int64_t balance = 0;      // the user's, afterwards
  std::int64_t app_balance = 0;  // the app's
};
// Moves points from a user to an app in which they have the role billing, where they pay for its
// deployments and campaigns. They don't count as spent: what was a bonus stays one. Throws
// app_not_found, forbidden without that role, insufficient_balance and spend_limit_reached; and, if
// the app belongs to somebody else, bonus_locked.
ToppedUp top_up(db::Tx& tx, const debits::Payer& from, const std::string& app_id,
                std::int64_t amount, const std::string& description);

// A posting on an account, in the form that its owner sees.
struct Entry {
  std::string transaction_id;
  std::string kind;         // such as "spend", "transfer" or "mint"
  std::int64_t amount = 0;  // negative if the points left the account
  std::string description;
  ledger::Account counterparty;
  // The name of a user or an app, if that still exists.
  std::optional<std::string> counterparty_name;
  Instant at;
};
// The kinds of movements on the accounts of users.
inline constexpr std::array<std::string_view, 17> kinds_of_users = {
    "mint",           "spend",
    "refund",         "transfer",
    "signup_bonus",   "referral_reward",
    "session_reward", "learning_reward",
    "viewer_reward",  "cosmetic_purchase",
    "cosmetic_gift",  "account_deleted",
    "stipend",        "claw_back",
    "top_up",         "guest_merged",
    "cosmetic_refund"};
enum class Direction { in, out };
struct Filter {
  std::optional<std::string> kind;
  std::optional<Direction> direction;
  std::optional<Instant> from;   // at this time or later
  std::optional<Instant> until;  // before this time
};
// The postings that match the filter, newest first. Throws validation_failed if the ledger has no
// transactions of the kind, and it isn't one of users' accounts.
Page<Entry> history(db::Tx& tx, const ledger::Account& account, const Filter& filter,
                    const PageRequest& page);

inline constexpr int default_window_days = 30;
inline constexpr int max_window_days = 365;
// The figures are defined in the schema OperatorAnalytics. The window is the present UTC day and
// `window_days` - 1 days before it.
struct Analytics {
  std::int64_t total_users = 0;
  std::int64_t total_spends = 0;
  std::int64_t total_awards = 0;
  std::int64_t earnings = 0;
  std::int64_t daily_active_users = 0;
  double retention_7d = 0;  // from 0 to 1
};
Analytics analytics(db::Tx& tx, const std::string& app_id, int window_days);
// What the app's transactions of a kind on a day add to its earnings; negative for refunds, and
// positive for refunds that were taken back.
std::int64_t earned_by(const ledger::KindDay& sums);

}  // namespace berth::points
