#include "api/resources/ads/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

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
     .text = "Chooses a campaign that pays for this viewer and reserves its payout for some "
             "minutes. Show the ad, then report the impression with impression_token. It is "
             "refused if none matches.",
     .guards = {access, serves},
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
     .guards = {access, events},
     .stores = Stores::ads,
     .body = {"AdEventRequest"},
     .answer = {201, "AdEventResult"},
     .errors = {Code::campaign_not_found},
     .idempotency = Idempotency::kept,
     .with_row_locks = true,
     .served_by = {.neither = called_by_apps},
     .run = WriteHandler{record_ad_event}},
};

}  // namespace

std::span<const Route> ads_routes() { return rows; }

}  // namespace berth::api
