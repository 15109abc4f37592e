#pragma once

#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"

// Counts ordered certificates and limits them, so that berth stays below the limits of Let's
// Encrypt (letsencrypt.org/docs/rate-limits) and one operator can't use them up for all others.
namespace berth::certificate_orders {

inline constexpr Duration week = std::chrono::hours(7 * 24);
// How long an order's row is kept: the longest window of the limits below, plus a day.
inline constexpr Duration kept_for = week + std::chrono::hours(24);

// berth's own limit on one operator's new certificates.
inline constexpr int per_owner_and_week = 30;
// Let's Encrypt allows 300 new orders for an account in 3 hours. The rest is left for renewals,
// which must not be delayed.
inline constexpr int on_platform = 200;
inline constexpr Duration on_platform_window = std::chrono::hours(3);
// Let's Encrypt allows 50 certificates for a registered domain in 7 days, whoever orders them.
inline constexpr int per_registered_domain_and_week = 40;
// Let's Encrypt allows 5 certificates for the same set of names in 7 days.
inline constexpr int per_domain_and_week = 4;
// Let's Encrypt allows an account 5 failed validations of a name in an hour.
inline constexpr int failures_per_domain_and_hour = 4;

struct Purchase {
  std::string owner_id;
  std::string app_id;
  std::string domain;
};
struct Refusal {
  std::string message;  // says which limit is reached, for people
  Instant again_at;     // when an order will be possible again
};
// Takes an order from the limits and records it. Returns nothing if it was granted, and else the
// refusal. To be called for every certificate that will be requested, including those of
// sub-domains with a certificate of their own.
std::optional<Refusal> take(db::Tx& tx, const Purchase& purchase);
// Records that a certificate was renewed. This counts against all limits but the owner's, and is
// never refused.
void note_renewal(db::Tx& tx, const Purchase& purchase);
// Records how the domain's newest order without a result has ended.
enum class Result { issued, failed };
constexpr auto texts_of(Result) { return EnumTexts<Result::failed>{"issued", "failed"}; }
void note_result(db::Tx& tx, const std::string& domain, Result result);

// Returns the number of orders that count against on_platform.
std::int64_t count_on_platform(db::Tx& tx);

// Whether remove_old() would find a row.
bool is_any_old(db::Tx& tx);
// Deletes at most `limit` orders that are older than kept_for. Returns their number.
int remove_old(db::Tx& tx, int limit);

}  // namespace berth::certificate_orders
