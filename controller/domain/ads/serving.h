#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/ads/choice.h"
#include "controller/domain/ads/creatives.h"

// The first phase of an impression: a campaign is chosen in memory, and its payout is reserved in
// the ledger for a limited time. The app gets a token that stands for the reservation.
namespace berth::ads {

struct Rules {  // Configuration key `ads`.
  // The number of paid impressions of one campaign to one viewer in a UTC day. After that the
  // campaign is neither served to them nor paid for.
  std::int64_t viewer_daily_impressions = 100;
  Duration reservation_life = std::chrono::minutes(10);
  // The numbers of open reservations of one app on one campaign, and of all apps on one campaign.
  // They keep serving from locking up a budget. In addition, all apps of one owner together may
  // reserve at most a quarter of what the campaign can still pay, but always one impression.
  std::int64_t open_per_app = 100;
  std::int64_t open_per_campaign = 1'000;
};

// The campaigns that can be shown, kept in memory in a Choice and brought up to date after
// notifications of db::Topic::campaign. It may be out of date, so a reservation always checks the
// tables. Thread-safe.
class CampaignIndex {
 public:
  // To be called for each notification of the topic.
  void changed(const std::string& campaign_id);
  // To be called when notifications may have been lost: any campaign may have changed.
  void any_changed();
  // Reads the campaigns that have changed, or all of them at the first call and after
  // any_changed(). Whatever was committed before the call is seen. Must not be called within a
  // transaction.
  void refresh(db::Database& database);
  // Works as Choice::choose, for this app, but several threads may be within `take` at the same
  // time: while one checks whether it can take a campaign, others are offered the next ones.
  // Campaigns that often refused because the app has no room left on them aren't offered to it for
  // a moment, so that others get their turn.
  std::optional<Choice::Offer> choose(const std::string& app_id, const Choice::Request& request,
                                      const std::function<bool(const Choice::Offer&)>& take);
  // Returns the campaign's creative whose turn it is, and moves on to the next one; null if the
  // campaign has none. One that was removed a moment ago may still be returned.
  std::shared_ptr<const creatives::Creative> next_creative(const std::string& campaign_id);
  size_t size();

 private:
  struct Rotation {
    std::vector<std::shared_ptr<const creatives::Creative>> all = {};
    size_t next = 0;
  };
  class Offers;
  void load_all(db::Tx& tx);
  void load(db::Tx& tx, const std::string& id);
  void note_full(const std::string& app_id, const std::vector<std::string>& campaigns, Instant now);

  std::mutex changes_mutex_;
  bool is_loaded_ = false;
  bool is_fresh_ = false;  // whether all noted changes are in `choice_`
  std::unordered_set<std::string> changed_;
  std::mutex refresh_mutex_;  // keeps an older snapshot from being loaded after a newer one
  std::mutex choice_mutex_;
  Choice choice_;
  std::unordered_map<std::string, Rotation> creatives_;  // of campaigns that have any
  // For each app, the campaigns that have no room for it, and until when that is assumed.
  std::unordered_map<std::string, std::unordered_map<std::string, Instant>> full_;
};

struct ServeRequest {
  std::string app_id;
  std::string user_id;
  SurfaceType surface_type = {};
  Viewing viewing = {};
  std::optional<std::string> ad_placement_id = {};
};
struct Served {
  campaigns::Campaign campaign;
  std::string impression_id;
  std::string impression_token;  // shown once, because only its hash is stored
  Instant expires_at;
  std::shared_ptr<const creatives::Creative> creative = {};  // null if the campaign has none
};
// Serves an ad. Throws no_ad_available if no campaign matches; placement_not_found if the placement
// doesn't exist; forbidden if it belongs to another app; and validation_failed if it is of another
// surface type.
Served serve(db::Tx& tx, CampaignIndex& index, const Rules& rules, const ServeRequest& request);

// An expired reservation's row is kept for this long, so that a late report is answered with
// "expired" and not with "not_served". Rows that count for a viewer's daily limit are kept until
// the day is over.
inline constexpr Duration expired_kept_for = std::chrono::hours(24);
// Whether remove_old() would find a row.
bool is_anything_old(db::Tx& tx);
// Removes up to `limit` rows of each table; returns their number.
int remove_old(db::Tx& tx, int limit);

}  // namespace berth::ads
