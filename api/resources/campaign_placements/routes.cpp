#include "api/resources/campaign_placements/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

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
     .guards = {access, ad_reads},
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
     .guards = {access, ad_writes},
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
     .guards = {access, ad_writes},
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
     .guards = {access, ad_writes},
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
     .guards = {access, ad_writes},
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
