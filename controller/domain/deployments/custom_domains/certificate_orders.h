#pragma once

#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/db/database.h"

// A book of the certificates that were ordered, and how many may be: under the limits of Let's
// Encrypt (letsencrypt.org/docs/rate-limits), which one operator must not use up for all others.
namespace berth::certificate_orders {

inline constexpr Duration week = std::chrono::hours(7 * 24);
// How long an order's row is kept: the longest window of the budgets below, and a day to spare.
inline constexpr Duration kept_for = week + std::chrono::hours(24);

// Ours: one operator's new certificates.
inline constexpr int per_owner_and_week = 30;
// 300 new orders per account in 3 hours; the rest is for renewals, which nobody may delay.
inline constexpr int on_platform = 200;
inline constexpr Duration on_platform_window = std::chrono::hours(3);
// 50 certificates per registered domain in 7 days, whoever ordered them.
inline constexpr int per_registered_domain_and_week = 40;
// 5 certificates for the same names in 7 days.
inline constexpr int per_domain_and_week = 4;
// 5 failed validations per name and account in an hour.
inline constexpr int failures_per_domain_and_hour = 4;

struct Purchase {
  std::string owner_id;
  std::string app_id;
  std::string domain;
};
struct Refusal {
  std::string message;  // which budget is used up, for people
  Instant again_at;     // when there is an order again
};
// Takes one order: nothing where it was granted (and written down), else why not. For every
// certificate that is to be asked for, also of sub-domains that have one each.
std::optional<Refusal> take(db::Tx& tx, const Purchase& purchase);
// A certificate was renewed: counts, and is never refused.
void note_renewal(db::Tx& tx, const Purchase& purchase);
// How the newest order of the domain that still runs ended.
enum class Result { issued, failed };
void note_result(db::Tx& tx, const std::string& domain, Result result);

}  // namespace berth::certificate_orders
