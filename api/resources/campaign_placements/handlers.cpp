// The placements of campaigns.
#include "api/resources/campaign_placements/handlers.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/campaigns/actor.h"
#include "controller/domain/ads/placing.h"

namespace berth::api {
namespace {

json encode(const ads::PlacementSegment& one) {
  return {{"id", one.id},
          {"campaign_placement_id", one.campaign_placement_id},
          {"segment_type", one.segment.type},
          {"segment_value", one.segment.value},
          {"match_mode", one.segment.match_mode},
          {"inserted_at", to_iso8601(one.inserted_at)}};
}

json encode(const ads::CampaignPlacement& placed) {
  json segments = json::array();
  for (const auto& segment : placed.segments) segments.push_back(encode(segment));
  return {{"id", placed.id},
          {"campaign_id", placed.campaign_id},
          {"ad_placement_id", placed.ad_placement_id},
          {"allocated_budget", placed.allocated_budget},
          {"impressions_delivered", placed.impressions_delivered},
          {"impressions_target", placed.impressions_target},
          {"status", placed.status},
          {"inserted_at", to_iso8601(placed.inserted_at)},
          {"updated_at", to_iso8601(placed.updated_at)},
          {"segments", std::move(segments)}};
}

std::optional<std::int64_t> integer_or_nothing(const json& body, const char* field) {
  const auto value = body.find(field);
  return value == body.end() || value->is_null() ? std::nullopt
                                                 : std::optional(value->get<std::int64_t>());
}

// The object under two names: its own, and the one that it has in the list.
json both_names(const ads::CampaignPlacement& placed) {
  const json body = encode(placed);
  return {{"campaign_placement", body}, {"placement", body}};
}

std::vector<ads::Segment> decode_segments(db::Tx& tx, const Call& call) {
  if (const auto audience = text_or_nothing(call.body, "audience_segment_id"))
    return ads::segments_of_audience(tx, call.caller->app_id, *audience);
  std::optional<ads::Attribute> type;
  set(type, call.body, "segment_type");
  if (!type) throw invalid_field("segment_type", "is required, or audience_segment_id");
  std::optional<ads::MatchMode> match_mode;
  set(match_mode, call.body, "match_mode");
  return {{.type = *type,
           .value = text_or_nothing(call.body, "segment_value").value_or(""),
           .match_mode = match_mode.value_or(ads::MatchMode::exact)}};
}

}  // namespace

Reply list_campaign_placements(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page(
              "placements",
              ads::list_campaign_placements(tx, campaign_actor(call), call.id(), call.page()),
              [](const ads::CampaignPlacement& one) { return encode(one); })};
}

Reply place_campaign(db::Tx& tx, const Call& call, const Services&) {
  const auto placed =
      ads::place(tx, campaign_actor(call), call.id(),
                 {.ad_placement_id = call.body.at("ad_placement_id"),
                  .allocated_budget = call.body.at("allocated_budget"),
                  .impressions_target = integer_or_nothing(call.body, "impressions_target")});
  return {.status = 201, .body = both_names(placed)};
}

Reply change_campaign_placement(db::Tx& tx, const Call& call, const Services&) {
  ads::PlacementChange change;
  set(change.status, call.body, "status");
  set(change.allocated_budget, call.body, "allocated_budget");
  set(change.impressions_target, call.body, "impressions_target");
  const auto placed =
      ads::change_placement(tx, campaign_actor(call), call.id(), call.id("placement_id"), change);
  return {.body = both_names(placed)};
}

Reply remove_campaign_placement(db::Tx& tx, const Call& call, const Services&) {
  return {.body = both_names(
              ads::remove_placement(tx, campaign_actor(call), call.id(), call.id("placement_id")))};
}

Reply add_placement_segment(db::Tx& tx, const Call& call, const Services&) {
  json segments = json::array();
  for (const ads::Segment& segment : decode_segments(tx, call))
    segments.push_back(encode(
        ads::add_segment(tx, campaign_actor(call), call.id(), call.id("placement_id"), segment)));
  const json first = segments.front();
  return {.status = 201, .body = {{"segment", first}, {"segments", std::move(segments)}}};
}

}  // namespace berth::api
