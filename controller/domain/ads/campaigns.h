#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/ledger/ledger.h"

// Ad campaigns: an app pays, 9 of 10 points are the budget that impressions are paid from, the rest
// is the platform's rake. What is left of a budget and what is reserved of it stand in the ledger,
// on campaign_account and its reservation account.
//
// active ⇄ paused; from both: cancelled (by the owner, or by the time: end_reason ended) and
// exhausted (the budget can't pay one more impression). Those two are final. Each transition is one
// conditional UPDATE.
namespace berth::campaigns {

inline constexpr std::array<std::string_view, 5> surface_types = {"banner", "video", "interstitial",
                                                                  "native", "rewarded"};
bool is_surface_type(std::string_view text);

struct Campaign {
  std::string id = {};
  std::string app_id = {};    // that pays, and gets back what isn't spent
  std::string owner_id = {};  // of the app
  std::optional<std::string> purchase_id = {};
  std::string name = {};
  std::string surface_type = {};
  std::int64_t payout_rate = 0;  // points of an impression, to the app that showed it
  std::optional<std::string> targeting_metadata = {};  // a JSON object
  std::string status = {};                             // active, paused, exhausted, cancelled
  std::optional<std::string> end_reason = {};          // exhausted, cancelled, ended
  std::int64_t total_payment = 0;                      // rake + budget
  std::int64_t rake = 0;
  std::int64_t budget = 0;  // spent + refunded + reserved + remaining
  std::int64_t spent = 0;
  std::int64_t refunded = 0;
  std::int64_t reserved = 0;   // for impressions that were served and not reported yet
  std::int64_t remaining = 0;  // can be reserved
  std::int64_t viewer_rewards = 0;
  std::optional<Instant> starts_at = {};
  std::optional<Instant> ends_at = {};
  Instant inserted_at = {};
  Instant updated_at = {};

  bool is_live() const { return status == "active" || status == "paused"; }
  // Whether it may be shown, or reported on, at `now`, as far as its own state goes.
  bool is_over(Instant now) const { return !is_live() || (ends_at && *ends_at <= now); }
};

// Who acts: the token's app. Another app's campaign is forbidden to it.
struct Actor {
  std::string app_id;
  std::string user_id;
};

struct Order {
  std::string name;
  std::string surface_type;
  std::int64_t total_payment = 0;
  std::int64_t payout_rate = 0;
  std::optional<std::string> targeting_metadata = {};
  std::optional<Instant> starts_at = {};
  std::optional<Instant> ends_at = {};
  std::optional<std::string> purchase_id = {};
};

// floor(0.9 × payment), so that small payments can't dodge the rake. `payment` is the sum of what a
// campaign was paid.
std::int64_t budget_of(std::int64_t payment);

// Takes the payment from the app's account. Throws validation_failed (also where the budget is
// below one payout, or the targeting can't be read: ad_targeting.h), insufficient_balance.
Campaign create(db::Tx& tx, const std::string& app_id, const Order& order);
std::optional<Campaign> find(db::Tx& tx, const std::string& id);
// Throws campaign_not_found, forbidden. So do all below.
Campaign get_owned(db::Tx& tx, const Actor& actor, const std::string& id);
Page<Campaign> list(db::Tx& tx, const Actor& actor, const PageRequest& page);

// active or paused; the state that it has is no change. Throws invalid_state where it has ended.
Campaign set_status(db::Tx& tx, const Actor& actor, const std::string& id,
                    const std::string& status);
// Budget and rake are afterwards what one payment of the sum would have given. Throws invalid_state,
// insufficient_balance; validation_failed where the payment would add nothing to the budget, or take
// the payments beyond max_points.
Campaign top_up(db::Tx& tx, const Actor& actor, const std::string& id, std::int64_t payment);
struct Cancelled {
  Campaign campaign;
  std::int64_t refunded = 0;  // what was left, reservations included
};
Cancelled cancel(db::Tx& tx, const Actor& actor, const std::string& id);

// Ends the campaign where what is left and reserved can't pay one more impression; what is left
// goes back to the app. To be called after each change of its budget.
void exhaust_if_spent(db::Tx& tx, const std::string& id);
// Ends campaigns whose ends_at has come, `limit` at most; returns how many.
bool is_any_over(db::Tx& tx);
int end_some(db::Tx& tx, int limit);

// Whether the app has campaigns that are active or paused.
bool has_live(db::Tx& tx, const std::string& app_id);
// Whether, or with what weight, the campaigns of this app, of this owner's apps or of all that live
// are shown may have changed.
void app_changed(db::Tx& tx, const std::string& app_id);
void owner_changed(db::Tx& tx, const std::string& owner_id);
void tiers_changed(db::Tx& tx);

}  // namespace berth::campaigns
