// Campaigns.
#include "api/resources/campaigns/handlers.h"

#include "api/gate/day_window.h"
#include "api/gate/encode.h"
#include "api/resources/campaigns/actor.h"
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
          {"updated_at", to_iso8601(campaign.updated_at)}};
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

}  // namespace

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

}  // namespace berth::api
