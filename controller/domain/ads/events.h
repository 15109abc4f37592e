#pragma once

#include <optional>
#include <string>

#include "controller/domain/ads/serving.h"
#include "controller/domain/ledger/rewards.h"

// The second phase of an impression, and clicks: what apps report. Every report on an existing
// campaign is recorded, with its outcome. An impression is paid once: from the campaign's budget to
// the app that reports it, and from the treasury to the viewer.
namespace berth::ads {

struct Report {
  std::string app_id;
  std::string user_id;
  std::string campaign_id;
  std::string event_type;  // impression or click
  std::string surface_type;
  // If empty, the newest open reservation is used.
  std::optional<std::string> impression_token = {};
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
  bool paid = false;  // whether the app got payout_rate_snapshot
  // Why an impression wasn't paid or a click wasn't counted: not_served, replayed, expired,
  // foreign_token, campaign_not_active, viewer_cap or no_impression.
  std::optional<std::string> unpaid_reason;
  std::int64_t viewer_reward = 0;
};
// Records a report and pays what it earns. Throws campaign_not_found.
// - An impression with a reservation is paid from it, whether the campaign is active or paused. An
//   impression that was never served is paid only if the campaign belongs to the owner of the
//   reporting app; it earns no reward and doesn't count for demand.
// - At most rules.viewer_daily_impressions impressions of a campaign are paid for one viewer in a
//   UTC day, whoever owns the campaign. Otherwise reports with a single viewer's token could use up
//   a campaign.
// - A click counts once, after an impression that was paid to this app for this viewer.
// - The viewer is rewarded if the campaign belongs to another owner, as long as the campaign's
//   rewards don't exceed its rake and rewards::pay allows it.
Recorded record(db::Tx& tx, const Rules& rules, const rewards::Rules& reward_rules,
                const Report& report);

}  // namespace berth::ads
