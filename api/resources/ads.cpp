// Handlers with which apps get ads to show and report their impressions and clicks.
#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/creatives.h"
#include "api/resources/shared.h"
#include "controller/base/id.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/ads/events.h"
#include "controller/domain/ads/serving.h"

namespace berth::api {
namespace {

ads::ServeRequest decode_serve(const Call& call) {
  ads::ServeRequest request = {.app_id = call.caller->app_id,
                               .user_id = call.caller->user_id,
                               .surface_type = *enum_query<ads::SurfaceType>(call, "surface_type"),
                               .ad_placement_id = call.query("placement_id", Kind::uuid)};
  if (request.ad_placement_id && !is_uuid(*request.ad_placement_id))
    throw invalid_field("placement_id", "must be a UUID");
  for (size_t i = 0; i < ads::attributes.size(); ++i) {
    request.viewing[i] = call.query(ads::attributes[i]);
    if (request.viewing[i] && request.viewing[i]->size() > ads::max_attribute_length)
      throw invalid_field(
          std::string(ads::attributes[i]),
          "must have at most " + std::to_string(ads::max_attribute_length) + " bytes");
  }
  return request;
}

json encode_creative(const ads::Served& served, const Services& services) {
  const auto& creative = served.creative;
  if (!creative) return nullptr;
  json encoded = shown_creative(*creative, services.base_url);
  encoded["click_url"] = services.base_url + "/ads/click?token=" +
                         creatives::click_token(served.impression_id, services.keys.data);
  return encoded;
}

json encode_ad(const ads::Served& served, const Services& services) {
  const campaigns::Campaign& campaign = served.campaign;
  return {{"id", campaign.id},
          {"name", campaign.name},
          {"surface_type", campaign.surface_type},
          {"payout_rate", campaign.payout_rate},
          {"targeting_metadata", or_null_object(campaign.targeting_metadata)},
          {"creative", encode_creative(served, services)}};
}

json encode(const ads::Event& event) {
  return {{"id", event.id},
          {"campaign_id", event.campaign_id},
          {"event_type", event.event_type},
          {"payout_rate_snapshot", event.payout_rate_snapshot},
          {"surface_type", event.surface_type},
          {"inserted_at", to_iso8601(event.inserted_at)}};
}

// Has its own transaction, because the campaigns in memory are brought up to date before it.
Reply serve_ad(const Call& call, const Services& services) {
  // Whoever can make viewers by a request could make views that others pay for.
  if (call.caller->is_guest)
    throw Error(Code::no_ad_available, "guests are shown no ads; an account is needed for that");
  const ads::ServeRequest request = decode_serve(call);
  services.memory.campaign_index.refresh(services.db);
  const ads::Served served = services.db.write_with_row_locks([&](db::Tx& tx) {
    return ads::serve(tx, services.memory.campaign_index, services.rules.ads, request);
  });
  return {.body = {{"campaign", encode_ad(served, services)},
                   {"impression_token", served.impression_token},
                   {"expires_at", to_iso8601(served.expires_at)}}};
}

Reply record_ad_event(db::Tx& tx, const Call& call, const Services& services) {
  // Nothing was served to them, and of an owner's own campaigns that would be paid, too.
  if (call.caller->is_guest)
    throw Error(Code::guest_account, "guests are shown no ads, so they have nothing to report");
  const ads::Recorded recorded =
      ads::record(tx, services.rules.ads, services.rules.rewards,
                  {.app_id = call.caller->app_id,
                   .user_id = call.caller->user_id,
                   .campaign_id = call.body.at("campaign_id"),
                   .event_type = call.body.at("event_type"),
                   .surface_type = call.body.value("surface_type", ads::SurfaceType::banner),
                   .impression_token = text_or_nothing(call.body, "impression_token")});
  return {.status = 201,
          .body = {{"event", encode(recorded.event)},
                   {"paid", recorded.paid},
                   {"unpaid_reason", or_null(recorded.unpaid_reason)},
                   {"viewer_reward", recorded.viewer_reward}}};
}

// From the specification's "Limits".
constexpr Rate serves = per_minute(60);
constexpr Rate events = per_minute(30);

constexpr Param serve_ad_query[] = {
    {.name = "surface_type",
     .description = "The surface type: banner, video, interstitial, native or rewarded.",
     .example = "banner",
     .required = true},
    {.name = "game_type",
     .description = "The type of the game, which campaigns may target.",
     .example = "puzzle"},
    {.name = "play_tier",
     .description = "The viewer's tier, in the app's own words, which campaigns may target.",
     .example = "gold"},
    {.name = "geography",
     .description = "The viewer's region, which campaigns may target, whole or by its beginning.",
     .example = "DE-BE"},
    {.name = "placement_id",
     .description = "The id of the ad placement in which the ad is shown.",
     .example = "01936f5e-7c1a-7000-8000-00000000000c",
     .kind = Kind::uuid}};

constexpr Access access = with_pages_of_apps(oauth_token({Scope::profile_read}));

constexpr Route rows[] = {
    {.request = "GET /api/external/ads/serve",
     .name = "serveAd",
     .tag = "Ads",
     .summary = "Get an ad to show, and reserve its payout",
     .text =
         "Chooses a campaign that pays for this viewer and reserves its payout for some "
         "minutes. Show the ad, then report the impression with impression_token. Its creative, if "
         "the campaign has one, has what to show, and a link for the viewer to click. It is "
         "refused if none matches.",
     .guards = {to_billing(access), serves},
     .stores = Stores::ads,
     .query = serve_ad_query,
     .answer = {200, "ServedAd"},
     .errors = {Code::no_ad_available, Code::placement_not_found, Code::forbidden},
     .served_by = {.neither = called_by_apps},
     .run = FreeHandler{serve_ad}},
    {.request = "POST /api/external/ads/event",
     .name = "recordAdEvent",
     .tag = "Ads",
     .summary = "Report an impression or a click; an impression that was served is paid once",
     .text = "Records what the viewer saw or clicked. The first report of a served impression pays "
             "the app from the campaign's budget, and the viewer may get a reward from the "
             "treasury. Reports that aren't paid say why.",
     .guards = {to_billing(access), events},
     .stores = Stores::ads,
     .body = {"AdEventRequest"},
     .answer = {201, "AdEventResult"},
     .errors = {Code::campaign_not_found, Code::guest_account},
     .idempotency = Idempotency::kept,
     .with_row_locks = true,
     .unaudited = "ad_events has the event.",
     .served_by = {.neither = called_by_apps},
     .run = WriteHandler{record_ad_event}},
};

}  // namespace

std::span<const Route> ads_routes() { return rows; }

}  // namespace berth::api
