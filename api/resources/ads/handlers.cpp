// Ads that apps show, and their reports about them.
#include "api/resources/ads/handlers.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
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

json encode_ad(const campaigns::Campaign& campaign) {
  return {{"id", campaign.id},
          {"name", campaign.name},
          {"surface_type", campaign.surface_type},
          {"payout_rate", campaign.payout_rate},
          {"targeting_metadata", or_null_object(campaign.targeting_metadata)}};
}

json encode(const ads::Event& event) {
  return {{"id", event.id},
          {"campaign_id", event.campaign_id},
          {"event_type", event.event_type},
          {"payout_rate_snapshot", event.payout_rate_snapshot},
          {"surface_type", event.surface_type},
          {"inserted_at", to_iso8601(event.inserted_at)}};
}

}  // namespace

// Has its own transaction, because the campaigns in memory are brought up to date before it.
Reply serve_ad(const Call& call, const Services& services) {
  const ads::ServeRequest request = decode_serve(call);
  services.campaign_index.refresh(services.db);
  const ads::Served served = services.db.write_with_row_locks([&](db::Tx& tx) {
    return ads::serve(tx, services.campaign_index, services.ad_rules, request);
  });
  return {.body = {{"campaign", encode_ad(served.campaign)},
                   {"impression_token", served.impression_token},
                   {"expires_at", to_iso8601(served.expires_at)}}};
}

Reply record_ad_event(db::Tx& tx, const Call& call, const Services& services) {
  const ads::Recorded recorded =
      ads::record(tx, services.ad_rules, services.reward_rules,
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

}  // namespace berth::api
