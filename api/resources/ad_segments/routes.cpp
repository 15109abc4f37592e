#include "api/resources/ad_segments/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Access access = oauth_token({Scope::campaigns_manage});

constexpr Placeholder segment_in_path = {"SegmentId", "The id of the audience.",
                                         "01936f5e-7c1a-7000-8000-00000000000e"};

constexpr Route rows[] = {
    {.request = "GET /api/v1/ads/segments",
     .name = "listAudienceSegments",
     .tag = "Ad market",
     .summary = "List the named audiences: those for everybody, and the app's own",
     .text = "Lists the audiences that the app's placements can be restricted to, oldest first.",
     .guards = {access, ad_reads},
     .paged = true,
     .answer = {200, "AudienceSegmentList"},
     .served_by = {.page = "/console/campaigns"},
     .run = ReadHandler{market_segments}},
    {.request = "POST /api/v1/ads/segments",
     .name = "createAudienceSegment",
     .tag = "Ad market",
     .summary = "Create a named audience for the app",
     .text =
         "Creates an audience that only this app can use, by game type, play tier or geography.",
     .guards = {access, ad_writes},
     .stores = Stores::ads,
     .body = {"CreateAudienceSegmentRequest"},
     .answer = {201, "AudienceSegmentEnvelope"},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/campaigns"},
     .run = WriteHandler{create_own_segment}},
    {.request = "GET /api/internal/ads/segments",
     .name = "internalListAdSegments",
     .tag = "Internal",
     .summary = "List all audience segments of the ad market",
     .text = "Lists all audiences of the platform and of apps, oldest first.",
     .guards = admins,
     .paged = true,
     .answer = {200, "AudienceSegmentList"},
     .served_by = {.page = "/console/admin"},
     .run = ReadHandler{internal_segments}},
    {.request = "POST /api/internal/ads/segments",
     .name = "createAdSegment",
     .tag = "Internal",
     .summary = "Add a named audience",
     .text = "Creates an audience that every app can use.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"CreateAudienceSegmentRequest"},
     .answer = {201, "AudienceSegmentEnvelope"},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{create_ad_segment}},
    {.request = "PATCH /api/internal/ads/segments/{id}",
     .name = "changeAdSegment",
     .tag = "Internal",
     .summary = "Change a named audience",
     .text = "Changes the fields that are sent. Placements that were given the audience before "
             "don't change.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&segment_in_path},
     .body = {"ChangeAudienceSegmentRequest"},
     .answer = {200, "AudienceSegmentEnvelope"},
     .errors = {Code::segment_not_found},
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{change_ad_segment}},
};

}  // namespace

std::span<const Route> ad_segments_routes() { return rows; }

}  // namespace berth::api
