#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/enum_text.h"
#include "controller/db/database.h"

// What is unusual about points and worth a look by an admin. The rules are simple, and what they
// find may be harmless: a game that has become popular looks like a farm on its first day. Nothing
// is refused because of them. What is read is bounded by the constants below.
namespace berth::money {

enum class Rule { farming, sudden_outflow, self_clicking };
constexpr auto texts_of(Rule) {
  return EnumTexts<Rule::self_clicking>{"farming", "sudden_outflow", "self_clicking"};
}

// farming: within the last days, new accounts have spent so many bonus points in one app, which is
// most of what may reach its owner (bonuses::most_received).
inline constexpr int farming_days = 7;
inline constexpr Duration new_account_age = std::chrono::days(7);  // when it spent them
inline constexpr std::int64_t farming_accounts = 4;                // at least
inline constexpr std::int64_t farming_points = 400;                // at least
inline constexpr int farming_spends_read = 2'000;                  // the newest ones

// sudden_outflow: today or yesterday, more left the account of an app, or the treasury, than
// `outflow_factor` times the median of the `outflow_days` days before, and at least `outflow_floor`
// points.
inline constexpr std::int64_t outflow_factor = 5;
inline constexpr std::int64_t outflow_days = 14;
inline constexpr std::int64_t outflow_floor = 10'000;

// self_clicking: within a day, the app's owner, and users who log in from the owner's networks,
// have caused so many of its ads' views and clicks.
inline constexpr Duration self_clicking_window = std::chrono::hours(24);
inline constexpr std::int64_t self_clicking_events = 10;  // at least
inline constexpr int ad_events_read = 100'000;            // the newest ones
inline constexpr size_t viewers_compared = 5'000;         // with the owners' networks

inline constexpr size_t max_anomalies = 100;  // of each rule

struct Anomaly {
  Rule rule = Rule::farming;
  std::optional<std::string> app_id;  // empty: the treasury
  std::optional<std::string> name;    // of the app; empty if it was deleted
  // Bonus points, points that left the account on `day`, or events.
  std::int64_t value = 0;
  std::int64_t usual = 0;  // what it was compared with: the least value that is found
  std::int64_t day = 0;    // as utc_day() numbers it
};
// Returns what the rules find, rule by rule, the largest value first. For a connection for heavy
// reads.
std::vector<Anomaly> anomalies(db::Tx& tx);

// Of numbers of any order; the lower one of the two in the middle. 0 for none.
std::int64_t median(std::vector<std::int64_t> values);

}  // namespace berth::money
