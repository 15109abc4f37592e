#include "controller/domain/ads/campaigns.h"

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/visible_text.h"
#include "controller/db/enum_column.h"
#include "controller/domain/accounts/bonuses.h"
#include "controller/domain/ads/creatives.h"
#include "controller/domain/ads/targeting.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/ledger/holds.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::campaigns {
namespace {

const std::string select_campaigns = R"(
    SELECT c.id, c.app_id, c.owner_id, c.purchase_id, c.name, c.surface_type, c.payout_rate,
           c.targeting_metadata, c.status, c.end_reason, c.total_payment, c.rake, c.budget,
           c.spent, c.refunded,
           coalesce((SELECT balance FROM ledger_accounts WHERE id = 'reservation:' || c.id), 0)
             AS reserved,
           coalesce((SELECT balance FROM ledger_accounts WHERE id = 'campaign:' || c.id), 0)
             AS remaining,
           c.viewer_rewards, c.starts_at, c.ends_at, c.inserted_at, c.updated_at, c.creatives
    FROM campaigns c )";

Campaign campaign_of(const db::Query& row) {
  return {.id = row.text("id"),
          .app_id = row.text("app_id"),
          .owner_id = row.text("owner_id"),
          .purchase_id = row.text_or_null("purchase_id"),
          .name = row.text("name"),
          .surface_type = db::enum_of<ads::SurfaceType>(row, "surface_type"),
          .payout_rate = row.integer("payout_rate"),
          .targeting_metadata = row.text_or_null("targeting_metadata"),
          .status = db::enum_of<Status>(row, "status"),
          .end_reason = db::enum_or_null<EndReason>(row, "end_reason"),
          .total_payment = row.integer("total_payment"),
          .rake = row.integer("rake"),
          .budget = row.integer("budget"),
          .spent = row.integer("spent"),
          .refunded = row.integer("refunded"),
          .reserved = row.integer("reserved"),
          .remaining = row.integer("remaining"),
          .viewer_rewards = row.integer("viewer_rewards"),
          .starts_at = row.instant_or_null("starts_at"),
          .ends_at = row.instant_or_null("ends_at"),
          .inserted_at = row.instant("inserted_at"),
          .updated_at = row.instant("updated_at"),
          .creatives = row.integer("creatives")};
}

Error has_ended(const Campaign& campaign) {
  // A campaign whose ends_at has come counts as ended even before the loop ends it.
  return Error(Code::invalid_state,
               campaign.is_live() ? "the campaign has ended"
                                  : "the campaign is " + std::string(to_string(campaign.status)));
}

// Moves the app's points to the campaign (`budget`) and the treasury (the rest of `payment`), in
// one transaction of the ledger.
void pay(db::Tx& tx, const Campaign& campaign, std::int64_t payment, std::int64_t budget) {
  ledger::Transaction transaction = {.kind = "campaign_payment",
                                     .legs = {},
                                     .memo = "campaign " + campaign.id,
                                     .mark = ledger::Mark::last};
  const ledger::Account app = ledger::app_account(campaign.app_id);
  bonuses::require_own(tx, app, campaign.owner_id, payment);
  if (budget > 0) transaction.legs.push_back({app, ledger::campaign_account(campaign.id), budget});
  if (payment > budget) transaction.legs.push_back({app, ledger::treasury(), payment - budget});
  if (!ledger::post(tx, transaction))
    throw Error(Code::insufficient_balance, "the app has fewer than " + std::to_string(payment) +
                                                " points to spend" +
                                                ledger::words_for_held(tx, app));
}

void check(const Order& order, Instant now) {
  // The name is sent to apps that show the ad.
  if (order.name.empty()) throw invalid_field("name", "must not be empty");
  if (const auto refusal = refusal_of_text(order.name, Lines::one))
    throw invalid_field("name", std::string(*refusal));
  if (budget_of(order.total_payment) < order.payout_rate)
    throw invalid_field("total_payment", "must pay for at least one impression: its budget of " +
                                             std::to_string(budget_of(order.total_payment)) +
                                             " is below payout_rate");
  if (order.ends_at && *order.ends_at <= now)
    throw invalid_field("ends_at", "must be in the future");
  if (order.ends_at && order.starts_at && *order.ends_at <= *order.starts_at)
    throw invalid_field("ends_at", "must be after starts_at");
  if (order.targeting_metadata) ads::parse_targeting(*order.targeting_metadata);
}

// Marks a purchase as refunded if all of its campaigns were cancelled.
void note_purchase(db::Tx& tx, const Campaign& campaign) {
  if (!campaign.purchase_id) return;
  tx.execute(R"(
      UPDATE ad_package_purchases
      SET status = 'refunded', updated_at = $2
      WHERE id = $1
        AND status = 'completed'
        AND NOT EXISTS (
          SELECT 1
          FROM campaigns
          WHERE purchase_id = $1 AND coalesce(end_reason, '') <> 'cancelled'))",
             *campaign.purchase_id, tx.now());
}

// All campaigns end here, so everything that follows from an end belongs here. Returns how many
// points went back to the app.
std::int64_t end(db::Tx& tx, const Campaign& campaign, EndReason reason) {
  const ledger::Account account = ledger::campaign_account(campaign.id);
  // From here on nothing is reserved on the campaign, and all that was reserved is seen below.
  holds::lock_accounts(tx, account);
  const bool exhausted = reason == EndReason::exhausted;
  const Status status = exhausted ? Status::exhausted : Status::cancelled;
  const int rows = tx.execute(R"(
      UPDATE campaigns
      SET status = $2, end_reason = $3, ended_at = $4, updated_at = $4
      WHERE id = $1 AND status IN ('active', 'paused'))",
                              campaign.id, to_string(status), to_string(reason), tx.now());
  if (rows == 0) throw has_ended(*find(tx, campaign.id));
  holds::void_all(tx, account);
  const std::int64_t left = ledger::balance(tx, account);
  if (left > 0) {
    ledger::post(tx, {.kind = "campaign_refund",
                      .from = account,
                      .to = ledger::app_account(campaign.app_id),
                      .amount = left,
                      .memo = "campaign " + campaign.id});
    tx.execute(R"(
        UPDATE campaigns
        SET refunded = refunded + $2
        WHERE id = $1)",
               campaign.id, left);
  }
  note_purchase(tx, campaign);
  creatives::campaign_ended(tx, campaign.id);
  webhooks::emit(tx, campaign.app_id, exhausted ? "campaign.exhausted" : "campaign.ended",
                 campaign.id,
                 {{"campaign_id", campaign.id},
                  {"name", campaign.name},
                  {"end_reason", reason},
                  {"refunded", left}});
  tx.notify(db::Topic::campaign, campaign.id);
  return left;
}

void notify_all(db::Tx& tx, db::Query rows) {
  while (rows.next()) tx.notify(db::Topic::campaign, rows.text("id"));
}

}  // namespace

std::int64_t budget_of(std::int64_t payment) { return payment * 9 / 10; }

Campaign create(db::Tx& tx, const std::string& app_id, const Order& order) {
  check(order, tx.now());
  const std::string id = new_uuid(tx.now());
  const std::int64_t budget = budget_of(order.total_payment);
  tx.execute(R"(
      INSERT INTO campaigns (id, app_id, owner_id, purchase_id, name, surface_type, payout_rate,
                             targeting_metadata, status, total_payment, rake, budget, starts_at,
                             ends_at, inserted_at, updated_at)
      SELECT $1, a.id, a.owner_id, $3, $4, $5, $6, $7, 'active', $8, $9, $10, $11, $12, $13, $13
      FROM apps a
      WHERE a.id = $2)",
             id, app_id, order.purchase_id, order.name, to_string(order.surface_type),
             order.payout_rate, order.targeting_metadata, order.total_payment,
             order.total_payment - budget, budget, order.starts_at, order.ends_at, tx.now());
  const ledger::Account account = ledger::campaign_account(id);
  ledger::open_account(tx, account);
  // The reservations' account is opened here and not when it is first needed, because two
  // transactions that open accounts have a serialization failure.
  ledger::open_account(tx, ledger::reservation_account(account));
  ledger::open_account(tx, ledger::treasury());
  pay(tx, *find(tx, id), order.total_payment, budget);
  tx.notify(db::Topic::campaign, id);
  return *find(tx, id);
}

std::optional<Campaign> find(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_campaigns + R"(WHERE c.id = $1)";
  auto rows = tx.query(sql, id);
  return rows.next() ? std::optional(campaign_of(rows)) : std::nullopt;
}

Campaign get_owned(db::Tx& tx, const Actor& actor, const std::string& id) {
  auto campaign = find(tx, id);
  if (!campaign) throw Error(Code::campaign_not_found, "there is no such campaign");
  if (campaign->app_id != actor.app_id)
    throw apps::foreign(tx, "the campaign", campaign->app_id, actor.app_id);
  return *std::move(campaign);
}

Page<Campaign> list(db::Tx& tx, const Actor& actor, const PageRequest& page) {
  static const ListSql sql = {
      .count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM campaigns WHERE app_id = $1 LIMIT $2) counted)",
      .rows = select_campaigns + R"(
      WHERE c.app_id = $1 AND (c.inserted_at, c.id) < ($2, $3)
      ORDER BY c.inserted_at DESC, c.id DESC
      LIMIT $4 OFFSET $5)",
      .sorted_by = {{SortColumn::Type::integer, "inserted_at"}, {SortColumn::Type::text, "id"}}};
  return read_page(tx, sql, page, campaign_of, actor.app_id);
}

Campaign set_status(db::Tx& tx, const Actor& actor, const std::string& id, Status status) {
  const Campaign campaign = get_owned(tx, actor, id);
  if (campaign.is_over(tx.now())) throw has_ended(campaign);
  const int rows =
      tx.execute(R"(
      UPDATE campaigns
      SET status = $2, updated_at = $3
      WHERE id = $1 AND status = $4)",
                 id, to_string(status), tx.now(),
                 to_string(status == Status::paused ? Status::active : Status::paused));
  if (rows == 1) tx.notify(db::Topic::campaign, id);
  Campaign changed = *find(tx, id);
  if (!changed.is_live()) throw has_ended(changed);
  return changed;
}

Campaign top_up(db::Tx& tx, const Actor& actor, const std::string& id, std::int64_t payment) {
  ledger::lock(tx, ledger::campaign_account(id));  // before the campaign's row, as end() does
  const Campaign campaign = get_owned(tx, actor, id);
  if (campaign.is_over(tx.now())) throw has_ended(campaign);
  if (payment > ledger::max_points - campaign.total_payment)
    throw invalid_field("additional_payment", "would take the payments beyond 2^53-1");
  // This payment's budget is the budget of all payments together, less that of the earlier ones, so
  // that the rake doesn't depend on the number of payments.
  const std::int64_t budget =
      budget_of(campaign.total_payment + payment) - budget_of(campaign.total_payment);
  if (budget == 0)
    throw invalid_field("additional_payment",
                        "must be larger: all of it would be rake, and nothing would be added to "
                        "the budget");
  const int rows =
      tx.execute(R"(
      UPDATE campaigns
      SET total_payment = total_payment + $2, rake = rake + $3, budget = budget + $4,
          updated_at = $5
      WHERE id = $1 AND status IN ('active', 'paused') AND total_payment = $6)",
                 id, payment, payment - budget, budget, tx.now(), campaign.total_payment);
  if (rows == 0) {
    const Campaign present = *find(tx, id);
    if (present.is_live()) throw db::Overtaken("another payment was added to the campaign");
    throw has_ended(present);
  }
  pay(tx, campaign, payment, budget);
  tx.notify(db::Topic::campaign, id);
  return *find(tx, id);
}

Cancelled cancel(db::Tx& tx, const Actor& actor, const std::string& id) {
  const Campaign campaign = get_owned(tx, actor, id);
  // A campaign whose time is over is recorded as ended even if the loop hasn't ended it yet.
  const bool ended = campaign.is_live() && campaign.is_over(tx.now());
  const std::int64_t refunded = end(tx, campaign, ended ? EndReason::ended : EndReason::cancelled);
  return {.campaign = *find(tx, id), .refunded = refunded};
}

void exhaust_if_spent(db::Tx& tx, const std::string& id) {
  const auto campaign = find(tx, id);
  if (!campaign || !campaign->is_live()) return;
  if (campaign->remaining + campaign->reserved < campaign->payout_rate)
    end(tx, *campaign, EndReason::exhausted);
}

bool is_any_over(db::Tx& tx) {
  return tx.number(R"(
      SELECT 1 AS due
      FROM campaigns
      WHERE status IN ('active', 'paused') AND ends_at IS NOT NULL AND ends_at <= $1
      LIMIT 1)",
                   tx.now()) > 0;
}

int end_some(db::Tx& tx, int limit) {
  static const std::string sql = select_campaigns + R"(
      WHERE c.status IN ('active', 'paused')
        AND c.ends_at IS NOT NULL
        AND c.ends_at <= $1
      ORDER BY c.ends_at
      LIMIT $2)";
  std::vector<Campaign> over;
  {
    auto rows = tx.query(sql, tx.now(), limit);
    while (rows.next()) over.push_back(campaign_of(rows));
  }
  for (const Campaign& campaign : over) end(tx, campaign, EndReason::ended);
  return int(over.size());
}

bool has_live(db::Tx& tx, const std::string& app_id) {
  return tx.number(R"(
      SELECT count(*)
      FROM campaigns
      WHERE app_id = $1 AND status IN ('active', 'paused'))",
                   app_id) > 0;
}

void app_changed(db::Tx& tx, const std::string& app_id) {
  notify_all(tx, tx.query(R"(
      SELECT id
      FROM campaigns
      WHERE app_id = $1 AND status IN ('active', 'paused'))",
                          app_id));
}

void owner_changed(db::Tx& tx, const std::string& owner_id) {
  notify_all(tx, tx.query(R"(
      SELECT id
      FROM campaigns
      WHERE app_id IN (SELECT id FROM apps WHERE owner_id = $1)
        AND status IN ('active', 'paused'))",
                          owner_id));
}

void give_to(db::Tx& tx, const std::string& app_id, const std::string& owner_id) {
  tx.execute(
      R"(
      UPDATE ad_pictures
      SET owner_id = $2
      WHERE creative_id IN (SELECT r.id
                            FROM campaigns c
                            JOIN ad_creatives r ON r.campaign_id = c.id
                            WHERE c.app_id = $1 AND c.status IN ('active', 'paused')))",
      app_id, owner_id);
  tx.execute(
      R"(
      UPDATE campaigns
      SET owner_id = $2
      WHERE app_id = $1 AND status IN ('active', 'paused'))",
      app_id, owner_id);
  app_changed(tx, app_id);
}

void tiers_changed(db::Tx& tx) {
  notify_all(tx, tx.query(R"(
      SELECT id
      FROM campaigns
      WHERE status IN ('active', 'paused'))"));
}

}  // namespace berth::campaigns
