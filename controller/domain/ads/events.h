#pragma once

#include <optional>
#include <string>

#include "controller/domain/ads/serving.h"
#include "controller/domain/ledger/rewards.h"

// The second phase of an impression, and clicks: what apps report. Every report on a known campaign
// is recorded as what it is; paid is an impression once, from the campaign's budget to the app, and
// with it, from the treasury, the viewer.
namespace berth::ads {

struct Report {
  std::string app_id;
  std::string user_id;
  std::string campaign_id;
  std::string event_type;  // impression, click
  std::string surface_type;
  std::optional<std::string> impression_token = {};  // else the newest open reservation is used
};

struct Event {
  std::string id;
  std::string campaign_id;
  std::string event_type;
  std::int64_t payout_rate_snapshot = 0;
  std::string surface_type;
  Instant inserted_at;
};

struct Recorded {
  Event event;
  bool paid = false;  // the app got payout_rate_snapshot
  // Why an impression wasn't paid, or a click doesn't count: not_served, replayed, expired,
  // foreign_token, campaign_not_active, viewer_cap, no_impression.
  std::optional<std::string> unpaid_reason;
  std::int64_t viewer_reward = 0;
};
// - An impression with a reservation is paid from it, whether the campaign is active or paused. One
//   that was never served is paid only on a campaign of the app's own owner: without a reward, and
//   outside of demand.
// - A viewer is paid for up to rules.viewer_daily_impressions of a campaign on a UTC day, whoever
//   owns it and whether it was served: what any viewer's token can report must not end a campaign.
// - A click counts once, after an impression that was paid to this app for this viewer.
// - The viewer is rewarded where the campaign is another owner's, as far as the rewards of the
//   campaign don't exceed its rake, and rewards::pay allows.
// Throws campaign_not_found.
Recorded record(db::Tx& tx, const Rules& rules, const rewards::Rules& reward_rules,
                const Report& report);

}  // namespace berth::ads
