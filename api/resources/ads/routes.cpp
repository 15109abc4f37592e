// The rows for campaigns and ads.
#include "api/gate/route_parts.h"
#include "api/resources/handlers.h"

namespace berth::api {
namespace {

const Rate campaign_reads = per_minute(60);
const Rate campaign_writes = per_minute(30);
// From the specification's "Limits".
const Rate serves = per_minute(60);
const Rate events = per_minute(30);

}  // namespace

std::vector<Route> campaign_routes() {
  const Access access = oauth_token({Scope::campaigns_manage, Scope::campaign_write});
  const std::vector<Code> owned = {Code::campaign_not_found, Code::forbidden};
  return {
      {.method = "POST",
       .path = "/api/external/campaigns",
       .name = "createCampaign",
       .tag = "Ads",
       .summary = "Create a campaign and pay for it with the app's points; it is active at once",
       .access = access,
       .rate = campaign_writes,
       .body_kind = Body::only_json,
       .body = "CreateCampaignRequest",
       .answer = {201, "CampaignEnvelope"},
       .errors = {Code::insufficient_balance},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{create_campaign}},
      {.method = "GET",
       .path = "/api/external/campaigns",
       .name = "listCampaigns",
       .tag = "Ads",
       .summary = "List the app's campaigns",
       .access = access,
       .rate = campaign_reads,
       .query = paged,
       .answer = {200, "CampaignList"},
       .run = ReadHandler{list_campaigns}},
      {.method = "GET",
       .path = "/api/external/campaigns/{id}",
       .name = "getCampaign",
       .tag = "Ads",
       .summary = "A campaign",
       .access = access,
       .rate = campaign_reads,
       .answer = {200, "CampaignEnvelope"},
       .errors = owned,
       .run = ReadHandler{get_campaign}},
      {.method = "PUT",
       .path = "/api/external/campaigns/{id}",
       .name = "changeCampaign",
       .tag = "Ads",
       .summary = "Pause or resume a campaign, or add a payment to it",
       .access = access,
       .rate = campaign_writes,
       .body_kind = Body::only_json,
       .body = "ChangeCampaignRequest",
       .answer = {200, "CampaignEnvelope"},
       .errors = {Code::campaign_not_found, Code::forbidden, Code::invalid_state,
                  Code::insufficient_balance},
       .idempotency = Idempotency::kept,  // each payment moves points
       .run = WriteHandler{change_campaign}},
      {.method = "DELETE",
       .path = "/api/external/campaigns/{id}",
       .name = "cancelCampaign",
       .tag = "Ads",
       .summary =
           "Cancel a campaign; all points that aren't spent are refunded, including reservations",
       .access = access,
       .rate = campaign_writes,
       .answer = {200, "CancelledCampaign"},
       .errors = {Code::campaign_not_found, Code::forbidden, Code::invalid_state},
       .run = WriteHandler{cancel_campaign}},
  };
}

std::vector<Route> ad_routes() {
  const Access access = oauth_token({Scope::profile_read});
  return {
      {.method = "GET",
       .path = "/api/external/ads/serve",
       .name = "serveAd",
       .tag = "Ads",
       .summary = "Get an ad to show, and reserve its payout",
       .access = access,
       .rate = serves,
       .query = {{.name = "surface_type",
                  .type = "string",
                  .description = "banner, video, interstitial, native or rewarded.",
                  .required = true,
                  .example = "banner"},
                 {.name = "game_type",
                  .type = "string",
                  .description = "The type of the game, which campaigns may target.",
                  .example = "puzzle"},
                 {.name = "play_tier",
                  .type = "string",
                  .description =
                      "The viewer's tier, in the app's own words, which campaigns may target.",
                  .example = "gold"},
                 {.name = "geography",
                  .type = "string",
                  .description =
                      "The viewer's region, which campaigns may target, whole or by its beginning.",
                  .example = "DE-BE"},
                 {.name = "placement_id",
                  .type = "string",
                  .description = "The id of the ad placement in which the ad is shown.",
                  .example = "01936f5e-7c1a-7000-8000-00000000000c"}},
       .answer = {200, "ServedAd"},
       .errors = {Code::no_ad_available, Code::placement_not_found, Code::forbidden},
       .run = FreeHandler{serve_ad}},
      {.method = "POST",
       .path = "/api/external/ads/event",
       .name = "recordAdEvent",
       .tag = "Ads",
       .summary = "Report an impression or a click; an impression that was served is paid once",
       .access = access,
       .rate = events,
       .body_kind = Body::only_json,
       .body = "AdEventRequest",
       .answer = {201, "AdEventResult"},
       .errors = {Code::campaign_not_found},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{record_ad_event}},
  };
}

}  // namespace berth::api
