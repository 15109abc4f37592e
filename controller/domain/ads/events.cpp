#include "controller/domain/ads/events.h"

#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/domain/kernel/meta.h"
#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/ledger/holds.h"

namespace berth::ads {
namespace {

// How many impressions are searched for the one of a click without a token.
constexpr int looked_back = 32;

struct Impression {  // a row of ad_impressions
  std::string id;
  std::string campaign_id;
  std::optional<std::string> campaign_placement_id;
  std::string app_id;
  std::string user_id;
  Instant expires_at;
  bool is_used = false;
  std::optional<std::string> creative_id;
};

const std::string select_impressions = R"(
    SELECT id, campaign_id, campaign_placement_id, app_id, user_id, expires_at,
           CASE WHEN used_at IS NULL THEN 0 ELSE 1 END AS is_used, creative_id
    FROM ad_impressions )";

const std::string impression_by_token = select_impressions + R"(
    WHERE token_hash = $1)";
const std::string impression_by_id = select_impressions + R"(
    WHERE id = $1)";
// `+` keeps SQLite from the index by expiry, which has everybody's open impressions.
const std::string newest_open_impression = select_impressions + R"(
    WHERE campaign_id = $1
      AND app_id = $2
      AND user_id = $3
      AND used_at IS NULL
      AND +expires_at > $4
    ORDER BY id DESC
    LIMIT 1)";

std::optional<Impression> first(db::Query rows) {
  if (!rows.next()) return std::nullopt;
  return Impression{.id = rows.text("id"),
                    .campaign_id = rows.text("campaign_id"),
                    .campaign_placement_id = rows.text_or_null("campaign_placement_id"),
                    .app_id = rows.text("app_id"),
                    .user_id = rows.text("user_id"),
                    .expires_at = rows.instant("expires_at"),
                    .is_used = rows.flag("is_used"),
                    .creative_id = rows.text_or_null("creative_id")};
}

// The result of a report, before its row is written.
struct Outcome {
  std::optional<UnpaidReason> unpaid_reason = {};  // empty if the report counts
  std::optional<Impression> impression = {};
  std::optional<std::string> clicked_event_id = {};
  std::int64_t viewer_reward = 0;
  bool in_demand = false;
};

Outcome unpaid(UnpaidReason reason) { return {.unpaid_reason = reason}; }

class Recording {
 public:
  // Throws campaign_not_found.
  Recording(db::Tx& tx, const Rules& rules, const rewards::Rules& reward_rules,
            const Report& report)
      : tx_(tx), rules_(rules), reward_rules_(reward_rules), report_(report) {
    auto owner = tx.query_later(R"(SELECT owner_id FROM apps WHERE id = $1)", report.app_id);
    const bool is_named = report.impression_token || report.impression_id;
    std::optional<db::Query> impression;
    if (is_named || report.event_type == EventType::impression)
      impression.emplace(find_impression_later());
    auto campaign = campaigns::find(tx, report.campaign_id);
    if (!campaign) throw Error(Code::campaign_not_found, "there is no such campaign");
    campaign_ = *std::move(campaign);
    if (owner.next()) owner_id_ = owner.text("owner_id");
    if (impression) impression_ = first(*std::move(impression));
    reward_ = {.kind = rewards::Kind::viewer,
               .user_id = report.user_id,
               .app_owner_id = owner_id_,
               .amount = reward_rules.viewer,
               .memo = "campaign " + campaign_.id};
  }

  const campaigns::Campaign& campaign() const { return campaign_; }

  Outcome impression() {
    if (!impression_ && report_.impression_token) return unpaid(UnpaidReason::not_served);
    if (!impression_) return unserved();
    const Impression& impression = *impression_;
    if (const auto reason = refusal_of(impression)) return unpaid(*reason);
    // The next statement, which finds the hold, takes along what is started until then.
    tx_.require_change(R"(
        UPDATE ad_impressions
        SET used_at = $2
        WHERE id = $1 AND used_at IS NULL)",
                       impression.id, tx_.now());
    auto view = count_view_later();
    std::optional<rewards::Due> reward;
    if (!is_own() && reward_rules_.viewer > 0) reward.emplace(tx_, reward_rules_, reward_);
    const auto hold = holds::find(tx_, impression.id);
    if (!is_counted(view)) {
      holds::void_hold(tx_, impression.id);
      return unpaid(UnpaidReason::viewer_cap);
    }
    return served(impression, hold, reward);
  }

  Outcome click() {
    const bool is_named = report_.impression_token || report_.impression_id;
    if (impression_ && is_foreign(*impression_)) return unpaid(UnpaidReason::foreign_token);
    const auto seen = impression_ ? seen_of(impression_->id) : newest_seen();
    if (!seen || (is_named && !impression_)) return unpaid(UnpaidReason::no_impression);
    if (is_clicked(*seen)) return unpaid(UnpaidReason::replayed);
    return {.clicked_event_id = seen};
  }

 private:
  db::Query find_impression_later() {
    if (report_.impression_id) return tx_.query_later(impression_by_id, *report_.impression_id);
    if (report_.impression_token)
      return tx_.query_later(impression_by_token, token_hash(*report_.impression_token));
    return tx_.query_later(newest_open_impression, report_.campaign_id, report_.app_id,
                           report_.user_id, tx_.now());
  }

  bool is_foreign(const Impression& impression) const {
    return impression.campaign_id != report_.campaign_id || impression.app_id != report_.app_id ||
           impression.user_id != report_.user_id;
  }
  bool is_own() const { return campaign_.owner_id == owner_id_; }

  std::optional<UnpaidReason> refusal_of(const Impression& impression) const {
    if (is_foreign(impression)) return UnpaidReason::foreign_token;
    if (impression.is_used) return UnpaidReason::replayed;
    if (campaign_.is_over(tx_.now())) return UnpaidReason::campaign_not_active;
    if (impression.expires_at <= tx_.now()) return UnpaidReason::expired;
    return std::nullopt;
  }

  // Records an impression that wasn't served. It is paid only if the reporting app has the same
  // owner as the campaign, who then pays themselves.
  Outcome unserved() {
    if (campaign_.status != campaigns::Status::active || campaign_.is_over(tx_.now()))
      return unpaid(UnpaidReason::campaign_not_active);
    if (!is_own()) return unpaid(UnpaidReason::not_served);
    if (auto view = count_view_later(); !is_counted(view)) return unpaid(UnpaidReason::viewer_cap);
    const auto moved = ledger::post(tx_, {.kind = "impression",
                                          .from = ledger::campaign_account(campaign_.id),
                                          .to = ledger::app_account(report_.app_id),
                                          .amount = campaign_.payout_rate,
                                          .memo = "campaign " + campaign_.id});
    if (!moved) {  // everything that is left is reserved for impressions that were served
      take_view_back();
      return unpaid(UnpaidReason::not_served);
    }
    tx_.notify(db::Topic::campaign, campaign_.id);
    spend();
    return {};
  }

  Outcome served(const Impression& impression, const std::optional<holds::Hold>& hold,
                 std::optional<rewards::Due>& due) {
    if (!hold || !holds::post(tx_, *hold, ledger::app_account(report_.app_id), "impression",
                              "campaign " + campaign_.id))
      throw db::Overtaken("the campaign has ended, or the reservation has expired");
    std::optional<db::Query> room;
    if (due) room.emplace(take_reward_later());
    spend();
    if (impression.campaign_placement_id) deliver(*impression.campaign_placement_id);
    Outcome outcome = {.impression = impression, .in_demand = !is_own()};
    if (due && room->run() > 0) outcome.viewer_reward = reward(*due);
    return outcome;
  }

  void spend() {
    tx_.execute_later(R"(
        UPDATE campaigns
        SET spent = spent + payout_rate, updated_at = $2
        WHERE id = $1)",
                      campaign_.id, tx_.now());
    campaigns::exhaust_if_spent(tx_, campaign_.id);
  }

  // Counts the view, also for an owner's own campaign, because everybody who uses one of the
  // owner's apps has a token that can report views. Changes no row if the viewer has seen the
  // campaign as often as they may. Null if nobody may see anything.
  std::optional<db::Query> count_view_later() {
    std::optional<db::Query> view;
    if (rules_.viewer_daily_impressions > 0)
      view.emplace(tx_.query_later(R"(
        INSERT INTO ad_views (user_id, day, campaign_id, impressions)
        VALUES ($1, $2, $3, 1)
        ON CONFLICT (user_id, day, campaign_id)
        DO UPDATE SET impressions = ad_views.impressions + 1
        WHERE ad_views.impressions < $4)",
                                   report_.user_id, utc_day(tx_.now()), campaign_.id,
                                   rules_.viewer_daily_impressions));
    return view;
  }
  static bool is_counted(std::optional<db::Query>& view) { return view && view->run() > 0; }
  // Leaves a row with 0 if it was the first one of the day.
  void take_view_back() {
    tx_.execute(R"(
        UPDATE ad_views
        SET impressions = impressions - 1
        WHERE user_id = $1 AND day = $2 AND campaign_id = $3)",
                report_.user_id, utc_day(tx_.now()), campaign_.id);
  }

  void deliver(const std::string& campaign_placement_id) {
    tx_.execute_later(R"(
        UPDATE campaign_placements
        SET impressions_delivered = impressions_delivered + 1,
            status = CASE WHEN impressions_delivered + 1 >= impressions_target THEN 'depleted'
                          ELSE status END,
            updated_at = $2
        WHERE id = $1)",
                      campaign_placement_id, tx_.now());
    if (tx_.number(R"(
        SELECT count(*)
        FROM campaign_placements
        WHERE id = $1 AND status = 'depleted')",
                   campaign_placement_id) > 0)
      tx_.notify(db::Topic::campaign, campaign_.id);
  }

  // Changes no row if the rake has no room for the viewer's reward.
  db::Query take_reward_later() {
    return tx_.query_later(R"(
        UPDATE campaigns
        SET viewer_rewards = viewer_rewards + $2
        WHERE id = $1 AND viewer_rewards + $2 <= rake)",
                           campaign_.id, reward_rules_.viewer);
  }

  std::int64_t reward(rewards::Due& due) {
    const std::int64_t amount = reward_rules_.viewer;
    const auto paid = due.pay();
    if (paid.points < amount)
      tx_.execute_later(R"(
          UPDATE campaigns
          SET viewer_rewards = viewer_rewards - $2
          WHERE id = $1)",
                        campaign_.id, amount - paid.points);
    return paid.points;
  }

  // Returns the event of the paid impression that this reservation belongs to.
  std::optional<std::string> seen_of(const std::string& impression_id) {
    auto rows = tx_.query(R"(
        SELECT id
        FROM ad_events
        WHERE impression_id = $1 AND event_type = 'impression' AND counted = 1)",
                          impression_id);
    return rows.next() ? std::optional(rows.text("id")) : std::nullopt;
  }
  // Returns the newest impression without a click or, if all have one, the newest.
  std::optional<std::string> newest_seen() {
    auto rows = tx_.query(R"(
        SELECT id
        FROM (
          SELECT id
          FROM ad_events
          WHERE campaign_id = $1
            AND app_id = $2
            AND user_id = $3
            AND event_type = 'impression'
            AND counted = 1
          ORDER BY id DESC
          LIMIT $4
        ) AS e
        ORDER BY EXISTS (SELECT 1 FROM ad_events c WHERE c.clicked_event_id = e.id), id DESC
        LIMIT 1)",
                          report_.campaign_id, report_.app_id, report_.user_id, looked_back);
    return rows.next() ? std::optional(rows.text("id")) : std::nullopt;
  }
  bool is_clicked(const std::string& event_id) {
    return tx_.number(R"(
        SELECT count(*)
        FROM ad_events
        WHERE clicked_event_id = $1)",
                      event_id) > 0;
  }

  db::Tx& tx_;
  const Rules& rules_;
  const rewards::Rules& reward_rules_;
  const Report& report_;
  campaigns::Campaign campaign_;
  std::string owner_id_;  // the owner of the app that reports
  std::optional<Impression> impression_;
  rewards::Reward reward_;  // the viewer's
};

// Counts an impression or a click for the creative that was shown, if there was one.
void count_creative(db::Tx& tx, const Outcome& outcome) {
  if (outcome.clicked_event_id)
    tx.execute_later(R"(
        UPDATE ad_creatives
        SET clicks = clicks + 1
        WHERE id = (SELECT i.creative_id
                    FROM ad_events e
                    JOIN ad_impressions i ON i.id = e.impression_id
                    WHERE e.id = $1))",
                     *outcome.clicked_event_id);
  else if (outcome.impression && outcome.impression->creative_id)
    tx.execute_later(R"(
        UPDATE ad_creatives
        SET impressions = impressions + 1
        WHERE id = $1)",
                     *outcome.impression->creative_id);
}

void count(db::Tx& tx, const Report& report, const campaigns::Campaign& campaign,
           const Outcome& outcome) {
  const int impressions = report.event_type == EventType::impression ? 1 : 0;
  tx.execute_later(R"(
      INSERT INTO ad_days (campaign_id, day, impressions, clicks, spend, viewer_rewards)
      VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (campaign_id, day)
      DO UPDATE SET impressions = ad_days.impressions + excluded.impressions,
                    clicks = ad_days.clicks + excluded.clicks,
                    spend = ad_days.spend + excluded.spend,
                    viewer_rewards = ad_days.viewer_rewards + excluded.viewer_rewards)",
                   campaign.id, utc_day(tx.now()), impressions, 1 - impressions,
                   impressions * campaign.payout_rate, outcome.viewer_reward);
  if (outcome.in_demand)
    tx.execute_later(R"(
        INSERT INTO ad_demand_days (surface_type, day, impressions)
        VALUES ($1, $2, 1)
        ON CONFLICT (surface_type, day)
        DO UPDATE SET impressions = ad_demand_days.impressions + 1)",
                     to_string(campaign.surface_type), utc_day(tx.now()));
  count_creative(tx, outcome);
}

}  // namespace

namespace {

std::int64_t first_kept_day(db::Tx& tx) { return utc_day(tx.now()) - events_kept_days; }
Instant first_kept_moment(db::Tx& tx) { return start_of_day(first_kept_day(tx)); }

// Removes an event. A click may be younger than its impression and stay; it then no longer refers
// to the impression.
void remove_event(db::Tx& tx, const std::string& id) {
  tx.execute(R"(
      UPDATE ad_events
      SET clicked_event_id = NULL
      WHERE clicked_event_id = $1)",
             id);
  tx.execute(R"(DELETE FROM ad_events WHERE id = $1)", id);
}

std::vector<std::string> old_events(db::Tx& tx, int limit) {
  std::vector<std::string> ids;
  auto rows = tx.query(R"(
      SELECT id
      FROM ad_events
      WHERE inserted_at < $1
      ORDER BY inserted_at
      LIMIT $2)",
                       first_kept_moment(tx), limit);
  while (rows.next()) ids.push_back(rows.text("id"));
  return ids;
}

}  // namespace

bool is_any_event_old(db::Tx& tx) {
  return tx.number(R"(
      SELECT CASE WHEN EXISTS (SELECT 1 FROM ad_events WHERE inserted_at < $1)
                    OR EXISTS (SELECT 1 FROM ad_impressions WHERE used_at < $1)
                  THEN 1 ELSE 0 END AS is_old)",
                   first_kept_moment(tx)) > 0;
}

int remove_old_events(db::Tx& tx, int limit) {
  const std::vector<std::string> ids = old_events(tx, limit);
  if (!ids.empty()) meta::put(tx, events_since_key, std::to_string(first_kept_day(tx)));
  for (const std::string& id : ids) remove_event(tx, id);
  const int removed = int(ids.size());
  if (removed == limit) return removed;  // events may be left that refer to reservations
  return removed + tx.execute(R"(
      DELETE FROM ad_impressions
      WHERE id IN (
        SELECT id
        FROM ad_impressions
        WHERE used_at < $1
        LIMIT $2))",
                              first_kept_moment(tx), limit);
}

bool record_followed_link(db::Tx& tx, const std::string& impression_id) {
  const auto impression = first(tx.query(impression_by_id, impression_id));
  if (!impression) return false;
  const bool counts = tx.number(R"(
      SELECT count(*)
      FROM ad_events e
      WHERE e.impression_id = $1
        AND e.event_type = 'impression'
        AND e.counted = 1
        AND NOT EXISTS (SELECT 1 FROM ad_events c WHERE c.clicked_event_id = e.id))",
                                impression_id) > 0;
  if (!counts) return false;
  const auto campaign = campaigns::find(tx, impression->campaign_id);
  return !record(tx, {}, {},
                 {.app_id = impression->app_id,
                  .user_id = impression->user_id,
                  .campaign_id = impression->campaign_id,
                  .event_type = EventType::click,
                  .surface_type = campaign->surface_type,
                  .impression_id = impression_id})
              .unpaid_reason;
}

Recorded record(db::Tx& tx, const Rules& rules, const rewards::Rules& reward_rules,
                const Report& report) {
  tx.release_rows_early();
  Recording recording(tx, rules, reward_rules, report);
  const campaigns::Campaign& campaign = recording.campaign();
  const bool is_click = report.event_type == EventType::click;
  const Outcome outcome = is_click ? recording.click() : recording.impression();
  const bool counted = !outcome.unpaid_reason;
  const Event event = {.id = new_uuid(tx.now()),
                       .campaign_id = campaign.id,
                       .event_type = report.event_type,
                       .payout_rate_snapshot = campaign.payout_rate,
                       .surface_type = report.surface_type,
                       .inserted_at = tx.now()};
  tx.execute_later(R"(
      INSERT INTO ad_events (id, campaign_id, app_id, user_id, event_type, surface_type,
                             payout_rate_snapshot, counted, unpaid_reason, viewer_reward,
                             impression_id, clicked_event_id, inserted_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13))",
                   event.id, event.campaign_id, report.app_id, report.user_id,
                   to_string(event.event_type), to_string(event.surface_type),
                   event.payout_rate_snapshot, counted, to_string(outcome.unpaid_reason),
                   outcome.viewer_reward,
                   outcome.impression ? std::optional(outcome.impression->id) : std::nullopt,
                   outcome.clicked_event_id, event.inserted_at);
  if (counted) count(tx, report, campaign, outcome);
  return {.event = event,
          .paid = counted && !is_click,
          .unpaid_reason = outcome.unpaid_reason,
          .viewer_reward = outcome.viewer_reward};
}

}  // namespace berth::ads
