#pragma once

#include <optional>
#include <string>

#include "controller/base/enum_text.h"
#include "controller/domain/ads/serving.h"
#include "controller/domain/ledger/rewards.h"

// The second phase of an impression, and clicks: what apps report. Every report on an existing
// campaign is recorded, with its outcome. An impression is paid once: from the campaign's budget to
// the app that reports it, and from the treasury to the viewer.
namespace berth::ads {

enum class EventType { impression, click };
constexpr auto texts_of(EventType) { return EnumTexts<EventType::click>{"impression", "click"}; }

// Why an impression isn't paid or a click isn't counted.
enum class UnpaidReason {
  not_served,           // no open reservation fits the impression
  replayed,             // the token was used before, or the impression was clicked before
  expired,              // the reservation's time is over
  foreign_token,        // the token was given to another app, for another user or campaign
  campaign_not_active,  // the campaign has ended
  viewer_cap,           // the viewer has seen the campaign as often as they may on one day
  no_impression         // no impression precedes the click
};
constexpr auto texts_of(UnpaidReason) {
  return EnumTexts<UnpaidReason::no_impression>{
      "not_served",          "replayed",   "expired",      "foreign_token",
      "campaign_not_active", "viewer_cap", "no_impression"};
}

struct Report {
  std::string app_id;
  std::string user_id;
  std::string campaign_id;
  EventType event_type = EventType::impression;
  SurfaceType surface_type = {};
  // If empty, the newest open reservation is used.
  std::optional<std::string> impression_token = {};
  // The reservation, if it is known: berth's own links know it without the token.
  std::optional<std::string> impression_id = {};
};

struct Event {
  std::string id;
  std::string campaign_id;
  EventType event_type = EventType::impression;
  std::int64_t payout_rate_snapshot = 0;
  SurfaceType surface_type = {};
  Instant inserted_at;
};

struct Recorded {
  Event event;
  bool paid = false;  // whether the app got payout_rate_snapshot
  std::optional<UnpaidReason> unpaid_reason;
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

// Records that the viewer of an impression has followed the link of its creative. Nothing is stored
// unless the click counts: once, after the impression was paid, as record() says. Returns whether
// it does. Nobody gets points for it.
bool record_followed_link(db::Tx& tx, const std::string& impression_id);

// Events, and the reservations that they used, are kept until this many days after the end of their
// UTC day. Their sums stay in ad_days. A click on an impression that was removed isn't counted
// (no_impression).
inline constexpr std::int64_t events_kept_days = 90;
// The first day of which no event was removed, as a number in `meta`; there is none before the
// first removal.
inline constexpr std::string_view events_since_key = "ad_events_since";
// Whether remove_old_events() would find a row.
bool is_any_event_old(db::Tx& tx);
// Removes up to `limit` rows of each table; returns their number.
int remove_old_events(db::Tx& tx, int limit);

}  // namespace berth::ads
