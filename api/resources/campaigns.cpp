// The campaigns of the token's app, under /api/external/campaigns and in the ad market's form under
// /api/v1/ads/campaigns.
#include "api/resources/campaigns.h"

#include "api/gate/day_window.h"
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/ads/analytics.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/kernel/utc_date.h"

namespace berth::api {
namespace {

json encode(const campaigns::Campaign& campaign) {
  return {{"id", campaign.id},
          {"name", campaign.name},
          {"surface_type", campaign.surface_type},
          {"payout_rate", campaign.payout_rate},
          {"bitcoin_tier", false},
          {"targeting_metadata", or_null_object(campaign.targeting_metadata)},
          {"status", campaign.status},
          {"end_reason", or_null(campaign.end_reason)},
          {"budget", campaign.budget},
          {"spent", campaign.spent},
          {"reserved", campaign.reserved},
          {"remaining", campaign.remaining},
          {"refunded", campaign.refunded},
          {"rake_amount", campaign.rake},
          {"total_payment_made", campaign.total_payment},
          {"starts_at", or_null(campaign.starts_at)},
          {"ends_at", or_null(campaign.ends_at)},
          {"inserted_at", to_iso8601(campaign.inserted_at)},
          {"updated_at", to_iso8601(campaign.updated_at)},
          {"creatives", campaign.creatives}};
}

json encode_summary(const campaigns::Campaign& campaign) {
  return {{"id", campaign.id},
          {"name", campaign.name},
          {"surface_type", campaign.surface_type},
          {"budget", campaign.budget},
          {"payout_rate", campaign.payout_rate},
          {"status", campaign.status},
          {"inserted_at", to_iso8601(campaign.inserted_at)}};
}

campaigns::Order decode_campaign_order(const json& body) {
  return {.name = body.at("name"),
          .surface_type = body.at("surface_type"),
          .total_payment = body.at("total_payment"),
          .payout_rate = body.at("payout_rate"),
          .targeting_metadata = object_or_nothing(body, "targeting_metadata"),
          .starts_at = instant_or_nothing(body, "starts_at"),
          .ends_at = end_or_nothing(body, "ends_at")};
}

// The click-through rate: clicks per hundred impressions.
double ctr(const ads::DayRow& row) {
  return row.impressions == 0 ? 0 : 100.0 * double(row.clicks) / double(row.impressions);
}

json encode_analytics(const campaigns::Campaign& campaign, const std::vector<ads::DayRow>& rows) {
  json daily = json::array();
  for (const ads::DayRow& row : rows)
    daily.push_back({{"date", utc_date(row.day)},
                     {"impressions", row.impressions},
                     {"clicks", row.clicks},
                     {"spend", row.spend},
                     {"ctr", ctr(row)}});
  const ads::DayRow total = ads::sum(rows);
  return {{"campaign_id", campaign.id},
          {"campaign_name", campaign.name},
          {"summary",
           {{"total_impressions", total.impressions},
            {"total_clicks", total.clicks},
            {"total_spend", total.spend},
            {"ctr", ctr(total)}}},
          {"daily", std::move(daily)}};
}

Reply create_campaign(db::Tx& tx, const Call& call, const Services&) {
  const auto campaign =
      campaigns::create(tx, call.caller->app_id, decode_campaign_order(call.body));
  return {.status = 201, .body = {{"campaign", encode(campaign)}}};
}

Reply list_campaigns(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("campaigns", campaigns::list(tx, campaign_actor(call), call.page()),
                              [](const campaigns::Campaign& one) { return encode(one); })};
}

Reply get_campaign(db::Tx& tx, const Call& call, const Services&) {
  return {
      .body = {{"campaign", encode(campaigns::get_owned(tx, campaign_actor(call), call.id()))}}};
}

Reply change_campaign(db::Tx& tx, const Call& call, const Services&) {
  const bool status = call.body.contains("status");
  const bool payment = call.body.contains("additional_payment");
  if (status == payment)
    throw invalid_field("status",
                        status ? "and additional_payment can't be changed in the same request"
                               : "is required, or additional_payment");
  const auto campaign =
      status ? campaigns::set_status(tx, campaign_actor(call), call.id(), call.body.at("status"))
             : campaigns::top_up(tx, campaign_actor(call), call.id(),
                                 call.body.at("additional_payment"));
  return {.body = {{"campaign", encode(campaign)}}};
}

Reply cancel_campaign(db::Tx& tx, const Call& call, const Services&) {
  const auto cancelled = campaigns::cancel(tx, campaign_actor(call), call.id());
  return {.body = {{"campaign", encode(cancelled.campaign)}, {"refunded", cancelled.refunded}}};
}

Reply market_campaigns(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("campaigns", campaigns::list(tx, campaign_actor(call), call.page()),
                              [](const campaigns::Campaign& one) { return encode_summary(one); })};
}

Reply create_market_campaign(db::Tx& tx, const Call& call, const Services&) {
  const auto campaign =
      campaigns::create(tx, call.caller->app_id, decode_campaign_order(call.body));
  return {.status = 201, .body = {{"campaign", encode_summary(campaign)}}};
}

Reply campaign_analytics(db::Tx& tx, const Call& call, const Services&) {
  const auto campaign = campaigns::get_owned(tx, campaign_actor(call), call.id());
  const DayWindow window = day_window(call, tx.now());
  json body = encode_analytics(campaign, ads::days(tx, campaign.id, window.first, window.last));
  body["analytics"] = json(body);
  return {.body = std::move(body)};
}

constexpr Access access = oauth_token({Scope::campaigns_manage, Scope::campaign_write});
constexpr Access market = oauth_token({Scope::campaigns_manage});
constexpr Errors owned = {Code::campaign_not_found, Code::forbidden};

constexpr Route rows[] = {
    {.request = "POST /api/external/campaigns",
     .name = "createCampaign",
     .tag = "Ads",
     .summary = "Create a campaign and pay for it with the app's points; it is active at once",
     .text = "Takes total_payment from the app's balance. A tenth is rake for the treasury, the "
             "rest is the budget, from which apps are paid for impressions. Ads are served from "
             "then on, or from starts_at.",
     .guards = {to_billing(access), ad_writes},
     .stores = Stores::ads,
     .body = {"CreateCampaignRequest"},
     .answer = {201, "CampaignEnvelope"},
     .errors = {Code::insufficient_balance, Code::bonus_locked},
     .idempotency = Idempotency::kept,
     .served_by = {"berth campaigns create", "/console/campaigns"},
     .run = WriteHandler{create_campaign}},
    {.request = "GET /api/external/campaigns",
     .name = "listCampaigns",
     .tag = "Ads",
     .summary = "List the app's campaigns",
     .text = "Lists the app's campaigns in any state, newest first.",
     .guards = {to_viewers(access), ad_reads},
     .paged = true,
     .answer = {200, "CampaignList"},
     .served_by = {"berth campaigns list", "/console/campaigns"},
     .run = ReadHandler{list_campaigns}},
    {.request = "GET /api/external/campaigns/{id}",
     .name = "getCampaign",
     .tag = "Ads",
     .summary = "A campaign",
     .text = "Returns a campaign of the app with what it has spent, reserved and left.",
     .guards = {to_viewers(access), ad_reads},
     .in_path = {&campaign_in_path},
     .answer = {200, "CampaignEnvelope"},
     .errors = owned,
     .served_by = {"berth campaigns show", "/console/campaigns"},
     .run = ReadHandler{get_campaign}},
    {.request = "PUT /api/external/campaigns/{id}",
     .name = "changeCampaign",
     .tag = "Ads",
     .summary = "Pause or resume a campaign, or add a payment to it",
     .text = "Pauses or resumes the campaign, or takes additional_payment from the app's balance, "
             "of which a tenth is rake. A campaign that has ended can't be changed.",
     .guards = {to_billing(access), ad_writes},
     .stores = Stores::ads,
     .in_path = {&campaign_in_path},
     .body = {"ChangeCampaignRequest"},
     .answer = {200, "CampaignEnvelope"},
     .errors = {Code::campaign_not_found, Code::forbidden, Code::invalid_state,
                Code::insufficient_balance, Code::bonus_locked},
     .idempotency = Idempotency::kept,  // each payment moves points
     .with_row_locks = true,
     .served_by = {"berth campaigns pause", "/console/campaigns"},
     .run = WriteHandler{change_campaign}},
    {.request = "DELETE /api/external/campaigns/{id}",
     .name = "cancelCampaign",
     .tag = "Ads",
     .summary =
         "Cancel a campaign; all points that aren't spent are refunded, including reservations",
     .text = "Ends the campaign for good. What is left of the budget returns to the app's balance; "
             "the rake doesn't.",
     .guards = {to_billing(access), ad_writes},
     .stores = Stores::nothing,
     .in_path = {&campaign_in_path},
     .answer = {200, "CancelledCampaign"},
     .errors = {Code::campaign_not_found, Code::forbidden, Code::invalid_state},
     .with_row_locks = true,
     .served_by = {"berth campaigns cancel", "/console/campaigns"},
     .run = WriteHandler{cancel_campaign}},
    {.request = "GET /api/v1/ads/campaigns",
     .name = "listCampaignSummaries",
     .tag = "Ad market",
     .summary = "List the app's campaigns in short form",
     .text = "Lists the app's campaigns in any state, newest first, with fewer fields.",
     .guards = {to_viewers(market), ad_reads},
     .paged = true,
     .answer = {200, "CampaignSummaryList"},
     .served_by = {.neither = shown_by_another},
     .run = ReadHandler{market_campaigns}},
    {.request = "POST /api/v1/ads/campaigns",
     .name = "createMarketCampaign",
     .tag = "Ad market",
     .summary = "Create a campaign and pay for it with the app's points; it is active at once",
     .text = "Does what POST /api/external/campaigns does: takes total_payment from the app's "
             "balance, keeps a tenth as rake, and serves ads from the rest.",
     .guards = {to_billing(market), ad_writes},
     .stores = Stores::ads,
     .body = {"CreateCampaignRequest"},
     .answer = {201, "CampaignSummaryEnvelope"},
     .errors = {Code::insufficient_balance, Code::bonus_locked},
     .idempotency = Idempotency::kept,
     .served_by = {.neither = shown_by_another},
     .run = WriteHandler{create_market_campaign}},
    {.request = "GET /api/v1/ads/campaigns/{id}/analytics",
     .name = "campaignAnalytics",
     .tag = "Ad market",
     .summary = "Show a campaign's results by UTC day",
     .text =
         "Returns the paid impressions, clicks and costs of a campaign, by UTC day and in total.",
     .guards = {to_viewers(market), ad_reads},
     .in_path = {&campaign_in_path},
     .query = day_window_query,
     .answer = {200, "CampaignAnalytics"},
     .errors = {Code::campaign_not_found, Code::forbidden},
     .readers = db::Readers::heavy,
     .served_by = {"berth campaigns stats", "/console/campaigns"},
     .run = ReadHandler{campaign_analytics}},
};

}  // namespace

std::span<const Route> campaigns_routes() { return rows; }

}  // namespace berth::api
