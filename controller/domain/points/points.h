#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/rewards.h"

// What users do with their points. Functions throw berth::Error; amounts are 1 to
// ledger::max_points.
namespace berth::points {

inline constexpr size_t max_description_length = 200;  // characters
// What somebody who was brought has to spend, beyond what he got for nothing and in apps of others
// than himself and who brought him, before the referral is rewarded.
inline constexpr std::int64_t referral_use = 100;

struct Spending {
  std::string grant_id;  // of the token
  std::string user_id;
  std::string app_id;
  std::int64_t amount = 0;
  std::string description;
};
// From the user to the app; returns the user's balance after it. May reward who brought him. Throws
// insufficient_balance, spend_limit_reached.
std::int64_t spend(db::Tx& tx, const Spending& spending, const rewards::Rules& rules);

struct Recipient {  // one of them
  std::optional<std::string> user_id;
  std::optional<std::string> username;
};
// From one user to another; returns the balance of the first after it. Throws validation_failed
// where it is to oneself, or where not exactly one of the recipient's names is there;
// user_not_found, also over a block: a transfer has a description, and nothing is said that way,
// either; insufficient_balance.
std::int64_t transfer(db::Tx& tx, const std::string& from_user_id, const Recipient& to,
                      std::int64_t amount, const std::string& description);

// One posting on an account, as its owner sees it.
struct Entry {
  std::string transaction_id;
  std::string kind;         // spend, transfer, mint, …
  std::int64_t amount = 0;  // below 0: it went out
  std::string description;
  ledger::Account counterparty;
  std::optional<std::string> counterparty_name;  // of a user or an app that is there still
  Instant at;
};
enum class Direction { in, out };
struct Filter {
  std::optional<std::string> kind;
  std::optional<Direction> direction;
  std::optional<Instant> from;   // at or after
  std::optional<Instant> until;  // before
};
// Newest first.
Page<Entry> history(db::Tx& tx, const ledger::Account& account, const Filter& filter,
                    const PageRequest& page);

inline constexpr int default_window_days = 30;
inline constexpr int max_window_days = 365;
// Each figure is defined in the schema OperatorAnalytics. The window ends now.
struct Analytics {
  std::int64_t total_users = 0;
  std::int64_t total_spends = 0;
  std::int64_t total_awards = 0;
  std::int64_t earnings = 0;
  std::int64_t daily_active_users = 0;
  double retention_7d = 0;  // 0 to 1
};
Analytics analytics(db::Tx& tx, const std::string& app_id, int window_days);

}  // namespace berth::points
