// The ad market for operators, under /api/v1/ads.
#include "controller/domain/ads/market.h"

#include "api/resources/ads/encode_campaign.h"
#include "api/resources/ads/encode_market.h"
#include "api/resources/handlers.h"
#include "controller/domain/ads/analytics.h"
#include "controller/domain/ads/serving.h"

namespace berth::api {
namespace {

constexpr std::int64_t default_analytics_days = 30;

std::string date_text(std::int64_t day) {
  return to_iso8601(Instant(std::chrono::days(day))).substr(0, 10);
}

std::optional<std::int64_t> day_in_query(const Call& call, const char* name) {
  const auto text = call.query(name);
  if (!text) return std::nullopt;
  const auto at = parse_iso8601(*text);
  if (!at) throw invalid_field(name, "must be a date such as 2026-01-31, or a time");
  return utc_day(*at);
}

// A range of days of any length; the answer leaves out days on which nothing happened.
struct Window {
  std::int64_t first, last;
};
Window window_of(const Call& call, Instant now) {
  Window window = {.first = 0, .last = day_in_query(call, "to").value_or(utc_day(now))};
  window.first = day_in_query(call, "from").value_or(window.last - default_analytics_days + 1);
  if (window.first > window.last) throw invalid_field("from", "must not be after to");
  return window;
}

// The click-through rate: clicks per hundred impressions.
double ctr(const ads::DayRow& row) {
  return row.impressions == 0 ? 0 : 100.0 * double(row.clicks) / double(row.impressions);
}

json encode_analytics(const campaigns::Campaign& campaign, const std::vector<ads::DayRow>& rows) {
  json daily = json::array();
  for (const ads::DayRow& row : rows)
    daily.push_back({{"date", date_text(row.day)},
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

Reply market_placements(db::Tx& tx, const Call& call, const Services&) {
  return {.body =
              encode_page("placements", ads::list_placements(tx, ads::Which::active, call.page()),
                          [](const ads::Placement& one) { return encode(one); })};
}

Reply market_rates(db::Tx& tx, const Call& call, const Services&) {
  const auto wanted = call.query("surface_type");
  Page<ads::Rate> page;
  page.items = wanted ? std::vector{ads::rate_of(tx, *wanted)} : ads::rates(tx);
  page.total = std::int64_t(page.items.size());
  return {.body = encode_page("rates", page, [](const ads::Rate& one) { return encode(one); })};
}

Reply market_pricing(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("pricing", ads::list_pricing(tx, ads::Which::active, call.page()),
                              [](const ads::Pricing& one) { return encode(one); })};
}

Reply market_placement_pricing(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"pricing", encode(ads::current_pricing(tx, call.id("ad_placement_id")))}}};
}

Reply market_packages(db::Tx& tx, const Call& call, const Services&) {
  return {.body =
              encode_page("packages", ads::list_packages(tx, ads::Packages::active, call.page()),
                          [](const ads::Package& one) { return encode(one); })};
}

Reply list_purchases(db::Tx& tx, const Call& call, const Services&) {
  return {.body =
              encode_page("purchases", ads::list_purchases(tx, call.caller->app_id, call.page()),
                          [](const ads::Purchase& one) { return encode(one); })};
}

Reply get_purchase(db::Tx& tx, const Call& call, const Services&) {
  return {
      .body = {{"purchase", encode(ads::get_owned_purchase(tx, call.caller->app_id, call.id()))}}};
}

Reply buy_package(db::Tx& tx, const Call& call, const Services&) {
  ads::PurchaseOrder order = {
      .ad_package_id = call.body.at("ad_package_id"), .surfaces = {}, .name = call.body.at("name")};
  for (const json& surface : call.body.at("surfaces"))
    order.surfaces.push_back(
        {.surface_type = surface.at("surface_type"), .impressions = surface.at("impressions")});
  const auto purchase = ads::buy(tx, call.caller->app_id, order);
  return {.status = 201, .body = {{"purchase", encode(purchase)}}};
}

Reply market_segments(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("segments", ads::list_segments(tx, call.caller->app_id, call.page()),
                              [](const ads::AudienceSegment& one) { return encode(one); })};
}

Reply create_own_segment(db::Tx& tx, const Call& call, const Services&) {
  ads::AudienceSegment segment = decode_segment(call.body, {});
  segment.app_id = call.caller->app_id;
  return {.status = 201, .body = {{"segment", encode(ads::create_segment(tx, segment))}}};
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
  const Window window = window_of(call, tx.now());
  json body = encode_analytics(campaign, ads::days(tx, campaign.id, window.first, window.last));
  body["analytics"] = json(body);
  return {.body = std::move(body)};
}

}  // namespace berth::api
