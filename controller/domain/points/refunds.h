#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/enum_text.h"
#include "controller/base/error.h"
#include "controller/db/database.h"
#include "controller/domain/points/points.h"

// What an app gives back to a user of what they spent in it: the whole amount, or parts of it. The
// points come from the app's balance, in the order in which refunds are asked for. Amounts are 1 to
// ledger::max_points.
//
// Bonus points (ledger::Mark) come back as bonus points. So do points of the user's own that were
// counted as their own use, or for which their referrer was rewarded: otherwise the same points
// could be spent, counted and given back for any number of accounts (docs/decisions/points.md).
// What the user may spend in the app on that day stays counted.
namespace berth::points {

// How long after a spend the app can give it back. Administrators can do it at any time.
inline constexpr Duration refundable_for = std::chrono::days(90);

enum class Initiator { owner, admin };
constexpr auto texts_of(Initiator) { return EnumTexts<Initiator::admin>{"owner", "admin"}; }

struct RefundOrder {
  std::string spend_id;  // a UUID
  std::int64_t amount = 0;
  std::string reason;  // at most max_description_length characters; both sides see it
  // The app that asks, on behalf of its owner. Empty if an administrator does.
  std::optional<std::string> app_id;
  std::string admin = {};      // who the administrator is, for the audit log
  bool asked_in_time = false;  // the user has asked for it while the app could give it back
};
struct Refund {
  std::string id;  // that of the ledger transaction
  std::string spend_id;
  std::int64_t amount = 0;
  std::int64_t refunded = 0;    // what was given back of the spend altogether
  std::int64_t refundable = 0;  // what can still be given back
  Instant at;
};
// Gives the points back. Needs a serializable write. Throws not_found if there is no such spend in
// the app; refund_exceeds_spend if the amount is more than what is left of it; invalid_state if the
// time is over or the user has deleted their account; insufficient_balance if the app's balance is
// too low; bonus_locked if the app could only pay with bonus points; validation_failed if the
// user's balance would exceed ledger::max_points. The write, or the nested part of it that throws,
// has to be rolled back.
Refund refund(db::Tx& tx, const RefundOrder& order);

// A spend as far as somebody wants it back.
struct RefundableSpend {
  std::string id;  // in lower case
  std::string user_id;
  std::string app_id;
  std::int64_t amount = 0;
  std::int64_t refunded = 0;
  Instant at;
};
// Returns nothing if there is no such spend. `spend_id` is a UUID.
std::optional<RefundableSpend> find_refundable(db::Tx& tx, const std::string& spend_id);
// refund_exceeds_spend, for a spend of `amount` points of which `refunded` were given back.
Error exceeds_spend(std::int64_t amount, std::int64_t refunded);
// invalid_state, for a spend that is older than refundable_for.
Error refund_too_late();

// A spend that took bonus points.
struct BonusSpend {
  std::string user_id;
  std::string app_id;
  std::int64_t bonus = 0;
  Instant at;
};
// Those since a time, newest first, at most `most`.
std::vector<BonusSpend> newest_bonus_spends(db::Tx& tx, Instant since, int most);

// Of `of` points that are a part of `whole`, those in the first `refunded` points of it, rounded
// down. So the differences that the parts of a spend make sum to those of the whole. `of` and
// `refunded` are 0 to `whole`, which is 1 to ledger::max_points.
std::int64_t share(std::int64_t of, std::int64_t refunded, std::int64_t whole);

// What a spend leaves behind that a refund of it has to know. `amount` is what was spent.
struct Counted {
  std::string spend_id;
  std::string user_id;
  std::int64_t amount = 0;
  std::int64_t bonus = 0;     // bonus points
  std::int64_t own_use = 0;   // points that were counted as the user's own use
  std::int64_t referral = 0;  // points that were counted for their referrer's reward
};
// Stores it, unless there is nothing to know.
void remember(db::Tx& tx, const Counted& counted);

}  // namespace berth::points
