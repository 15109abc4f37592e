#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "controller/db/database.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/ads/choice.h"

// The first phase of an impression: a campaign is chosen in memory and its payout reserved in the
// ledger, for a while, behind a token.
namespace berth::ads {

struct Rules {  // configuration: key `ads`
  // Paid impressions of one campaign to one viewer on a UTC day; no more are served or paid then.
  std::int64_t viewer_daily_impressions = 100;
  Duration reservation_life = std::chrono::minutes(10);
  // Open reservations, so that serving can't lock a budget: of one app on one campaign, and of one
  // campaign. The apps of one owner together have a quarter at most of what it can still pay,
  // though one.
  std::int64_t open_per_app = 100;
  std::int64_t open_per_campaign = 1'000;
};

// The campaigns that can be shown, as the tables have them: a Choice that follows
// db::Topic::campaign. What it says is a hint: the reservation looks at the tables. Thread-safe.
class CampaignIndex {
 public:
  // To be called for each note of the topic.
  void changed(const std::string& campaign_id);
  // Reads what has changed; all of it the first time. Everything that was committed before this was
  // called is seen. Must not be called within a transaction.
  void refresh(db::Database& database);
  // As Choice::choose, for this app. Where it had to be refused often, the campaigns that refused
  // aren't offered to it for a moment, so that the others get their turn.
  std::optional<Choice::Offer> choose(const std::string& app_id, Choice::Request request,
                                      const std::function<bool(const Choice::Offer&)>& take);
  size_t size();

 private:
  void load_all(db::Tx& tx);
  void load(db::Tx& tx, const std::string& id);

  std::mutex changes_mutex_;
  bool is_loaded_ = false;
  bool is_fresh_ = false;  // everything that was noted is in the choice
  std::unordered_set<std::string> changed_;
  std::mutex refresh_mutex_;  // so that an older snapshot never comes after a newer one
  std::mutex choice_mutex_;
  Choice choice_;
  // app -> campaigns that have no room for it, and until when that is believed.
  std::unordered_map<std::string, std::unordered_map<std::string, Instant>> full_;
};

struct ServeRequest {
  std::string app_id;
  std::string user_id;
  std::string surface_type;
  Viewing viewing = {};
  std::optional<std::string> ad_placement_id = {};
};
struct Served {
  campaigns::Campaign campaign;
  std::string impression_token;  // shown once: only its hash is stored
  Instant expires_at;
};
// Throws no_ad_available where no campaign fits; placement_not_found, forbidden, validation_failed
// where the placement isn't there, is another app's, or of another surface type.
Served serve(db::Tx& tx, CampaignIndex& index, const Rules& rules, const ServeRequest& request);

// A reservation that was never used is known for a day longer, so that its report is told "expired"
// and not "not_served"; what a viewer saw counts on its day.
inline constexpr Duration told_for = std::chrono::hours(24);
bool is_anything_old(db::Tx& tx);
int remove_old(db::Tx& tx, int limit);  // of each; returns how many rows

}  // namespace berth::ads
