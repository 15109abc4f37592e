// The placements of campaigns, under /api/v1/ads/campaigns/{id}/placements.
#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/campaigns.h"
#include "api/resources/shared.h"
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

constexpr Access access = oauth_token({Scope::campaigns_manage});

constexpr Placeholder campaign_placement_in_path = {"CampaignPlacementId",
                                                    "The id of the campaign's placement.",
                                                    "01936f5e-7c1a-7000-8000-000000000012"};

constexpr Route rows[] = {
    {.request = "GET /api/v1/ads/campaigns/{id}/placements",
     .name = "listCampaignPlacements",
     .tag = "Ad market",
     .summary = "List a campaign's placements",
     .text = "Lists the placements of a campaign, oldest first. A campaign without any is shown "
             "everywhere.",
     .guards = {to_viewers(access), ad_reads},
     .in_path = {&campaign_in_path},
     .paged = true,
     .answer = {200, "CampaignPlacementList"},
     .errors = {Code::campaign_not_found, Code::forbidden},
     .served_by = {.page = "/console/campaigns"},
     .run = ReadHandler{list_campaign_placements}},
    {.request = "POST /api/v1/ads/campaigns/{id}/placements",
     .name = "placeCampaign",
     .tag = "Ad market",
     .summary = "Add a placement to a campaign, with a part of its budget",
     .text = "Restricts the campaign to a placement of its surface type, with a part of its "
             "budget. No points move.",
     .guards = {to_billing(access), ad_writes},
     .stores = Stores::ads,
     .in_path = {&campaign_in_path},
     .body = {"PlaceCampaignRequest"},
     .answer = {201, "CampaignPlacementEnvelope"},
     .errors = {Code::campaign_not_found, Code::forbidden, Code::placement_not_found,
                Code::invalid_state},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/campaigns"},
     .run = WriteHandler{place_campaign}},
    {.request = "PATCH /api/v1/ads/campaigns/{id}/placements/{placement_id}",
     .name = "changeCampaignPlacement",
     .tag = "Ad market",
     .summary = "Pause or resume a campaign's placement, or change its part of the budget",
     .text = "Changes the fields that are sent. A depleted placement becomes active again if its "
             "target is raised.",
     .guards = {to_billing(access), ad_writes},
     .stores = Stores::ads,
     .in_path = {&campaign_in_path, &campaign_placement_in_path},
     .body = {"ChangeCampaignPlacementRequest"},
     .answer = {200, "CampaignPlacementEnvelope"},
     .errors = {Code::campaign_not_found, Code::forbidden, Code::placement_not_found,
                Code::invalid_state},
     .served_by = {.page = "/console/campaigns"},
     .run = WriteHandler{change_campaign_placement}},
    {.request = "DELETE /api/v1/ads/campaigns/{id}/placements/{placement_id}",
     .name = "removeCampaignPlacement",
     .tag = "Ad market",
     .summary = "Remove a placement from a campaign",
     .text = "Removes the placement. Its part of the budget is free for the campaign's other "
             "placements.",
     .guards = {to_billing(access), ad_writes},
     .stores = Stores::nothing,
     .in_path = {&campaign_in_path, &campaign_placement_in_path},
     .answer = {200, "CampaignPlacementEnvelope"},
     .errors = {Code::campaign_not_found, Code::forbidden, Code::placement_not_found,
                Code::invalid_state},
     .served_by = {.page = "/console/campaigns"},
     .run = WriteHandler{remove_campaign_placement}},
    {.request = "POST /api/v1/ads/campaigns/{id}/placements/{placement_id}/segments",
     .name = "addPlacementSegment",
     .tag = "Ad market",
     .summary = "Restrict the audience of a campaign's placement",
     .text = "Restricts who sees the campaign in this placement, by an attribute or by a named "
             "audience. Segments of one type are alternatives; those of different types must all "
             "match.",
     .guards = {to_billing(access), ad_writes},
     .stores = Stores::ads,
     .in_path = {&campaign_in_path, &campaign_placement_in_path},
     .body = {"AddPlacementSegmentRequest"},
     .answer = {201, "PlacementSegmentEnvelope"},
     .errors = {Code::campaign_not_found, Code::forbidden, Code::placement_not_found,
                Code::segment_not_found, Code::invalid_state},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/campaigns"},
     .run = WriteHandler{add_placement_segment}},
};

}  // namespace

std::span<const Route> campaign_placements_routes() { return rows; }

}  // namespace berth::api
