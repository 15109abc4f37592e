#include "api/resources/routes.h"

#include "api/resources/ads/handlers.h"

namespace berth::api {
namespace {

// From the specification's "Limits".
const Rate serves = per_minute(60);
const Rate events = per_minute(30);

}  // namespace

std::vector<Route> ads_routes() {
  const Access access = oauth_token({Scope::profile_read});
  return {
      {.method = "GET",
       .path = "/api/external/ads/serve",
       .name = "serveAd",
       .tag = "Ads",
       .summary = "Get an ad to show, and reserve its payout",
       .access = access,
       .rate = serves,
       .stores = Stores::ads,
       .query = {{.name = "surface_type",
                  .type = "string",
                  .description =
                      "The surface type: banner, video, interstitial, native or rewarded.",
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
       .stores = Stores::ads,
       .body_kind = Body::only_json,
       .body = "AdEventRequest",
       .answer = {201, "AdEventResult"},
       .errors = {Code::campaign_not_found},
       .idempotency = Idempotency::kept,
       .with_row_locks = true,
       .run = WriteHandler{record_ad_event}},
  };
}

}  // namespace berth::api
