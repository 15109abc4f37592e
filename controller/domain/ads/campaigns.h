#pragma once

#include <optional>
#include <string>

#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/ads/surface_type.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/ledger/ledger.h"

// Ad campaigns. An app pays for a campaign; 9 of 10 points become the budget that impressions are
// paid from, and the rest is the platform's rake. What is left of a budget is on the ledger account
// campaign_account, and what is reserved of it on that account's reservation account.
//
// A campaign is active or paused, and its owner can change that. Both states end in one of two
// final ones: cancelled (by the owner, or because ends_at has come, with the end_reason "ended") or
// exhausted (the budget can't pay one more impression). Each transition is one conditional UPDATE.
namespace berth::campaigns {

enum class Status { active, paused, exhausted, cancelled };
constexpr auto texts_of(Status) {
  return EnumTexts<Status::cancelled>{"active", "paused", "exhausted", "cancelled"};
}
enum class EndReason { exhausted, cancelled, ended };
constexpr auto texts_of(EndReason) {
  return EnumTexts<EndReason::ended>{"exhausted", "cancelled", "ended"};
}

struct Campaign {
  std::string id = {};
  std::string app_id = {};    // the app that pays, and gets back what isn't spent
  std::string owner_id = {};  // the app's owner
  std::optional<std::string> purchase_id = {};
  std::string name = {};
  ads::SurfaceType surface_type = {};
  std::int64_t payout_rate = 0;  // points for each impression, paid to the app that showed it
  std::optional<std::string> targeting_metadata = {};  // a JSON object
  Status status = Status::active;
  std::optional<EndReason> end_reason = {};
  std::int64_t total_payment = 0;  // rake + budget
  std::int64_t rake = 0;
  std::int64_t budget = 0;  // spent + refunded + reserved + remaining
  std::int64_t spent = 0;
  std::int64_t refunded = 0;
  std::int64_t reserved = 0;   // for impressions that were served but not reported yet
  std::int64_t remaining = 0;  // not spent, refunded or reserved
  std::int64_t viewer_rewards = 0;
  std::optional<Instant> starts_at = {};
  std::optional<Instant> ends_at = {};
  Instant inserted_at = {};
  Instant updated_at = {};
  std::int64_t creatives = 0;  // how many it has (creatives.h)

  bool is_live() const { return status == Status::active || status == Status::paused; }
  // Whether the campaign itself forbids showing it, or reporting on it, at `now`.
  bool is_over(Instant now) const { return !is_live() || (ends_at && *ends_at <= now); }
};

// Who acts: the app of the token, and its user. Campaigns of other apps are forbidden to them.
struct Actor {
  std::string app_id;
  std::string user_id;
};

struct Order {
  std::string name;
  ads::SurfaceType surface_type = {};
  std::int64_t total_payment = 0;
  std::int64_t payout_rate = 0;
  std::optional<std::string> targeting_metadata = {};
  std::optional<Instant> starts_at = {};
  std::optional<Instant> ends_at = {};
  std::optional<std::string> purchase_id = {};
};

// Returns floor(0.9 × payment), the budget of a campaign whose payments have this sum. Rounding
// down keeps small payments from avoiding the rake.
std::int64_t budget_of(std::int64_t payment);

// Creates a campaign and takes the payment from the app's account. Throws insufficient_balance, and
// validation_failed, also if the budget is below one payout or targeting.h can't read the
// targeting.
Campaign create(db::Tx& tx, const std::string& app_id, const Order& order);
std::optional<Campaign> find(db::Tx& tx, const std::string& id);
// This function and those below that take an actor and an id throw campaign_not_found, and
// forbidden if another app owns the campaign.
Campaign get_owned(db::Tx& tx, const Actor& actor, const std::string& id);
Page<Campaign> list(db::Tx& tx, const Actor& actor, const PageRequest& page);

// Sets the status to active or paused. Setting the present one changes nothing. Throws
// invalid_state if the campaign has ended.
Campaign set_status(db::Tx& tx, const Actor& actor, const std::string& id, Status status);
// Adds a payment. Afterwards budget and rake are what one payment of the sum would have given.
// Throws invalid_state if the campaign has ended, insufficient_balance, and validation_failed if
// the payment would add nothing to the budget or the payments would exceed max_points.
Campaign top_up(db::Tx& tx, const Actor& actor, const std::string& id, std::int64_t payment);
struct Cancelled {
  Campaign campaign;
  std::int64_t refunded = 0;  // what wasn't spent, including reservations
};
// Ends the campaign and returns what is left, reservations included, to the app. Throws
// invalid_state if it has already ended.
Cancelled cancel(db::Tx& tx, const Actor& actor, const std::string& id);

// Ends the campaign if its remaining and reserved points can't pay one more impression, and returns
// what is left to the app. To be called after each change of a budget.
void exhaust_if_spent(db::Tx& tx, const std::string& id);
// end_some() ends at most `limit` campaigns whose ends_at has come, and returns how many it ended.
// is_any_over() returns whether it would end one.
bool is_any_over(db::Tx& tx);
int end_some(db::Tx& tx, int limit);

// Whether the app has campaigns that are active or paused.
bool has_live(db::Tx& tx, const std::string& app_id);
// Tell the ad index that campaigns may now be shown to other viewers or with other weights: those
// of one app, those of all apps of one owner, or all that haven't ended.
void app_changed(db::Tx& tx, const std::string& app_id);
void owner_changed(db::Tx& tx, const std::string& owner_id);
void tiers_changed(db::Tx& tx);
// Makes the app's campaigns that haven't ended, with their pictures, another account's. To be
// called when the app goes to it.
void give_to(db::Tx& tx, const std::string& app_id, const std::string& owner_id);

}  // namespace berth::campaigns
