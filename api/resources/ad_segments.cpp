// Handlers of audience segments, by which campaigns restrict who sees their ads. Segments belong to
// the platform or to an app.
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/ads/placing.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

json encode(const ads::AudienceSegment& segment) {
  return {{"id", segment.id},
          {"name", segment.name},
          {"game_type", or_null(segment.game_type)},
          {"play_tier", or_null(segment.play_tier)},
          {"geography", or_null(segment.geography)},
          {"metadata", or_null_object(segment.metadata)},
          {"inserted_at", to_iso8601(segment.inserted_at)}};
}

// Returns `segment` with the fields that a body sets.
ads::AudienceSegment decode_segment(const json& body, ads::AudienceSegment segment) {
  segment.name = body.value("name", segment.name);
  if (body.contains("game_type")) segment.game_type = text_or_nothing(body, "game_type");
  if (body.contains("play_tier")) segment.play_tier = text_or_nothing(body, "play_tier");
  if (body.contains("geography")) segment.geography = text_or_nothing(body, "geography");
  if (body.contains("metadata")) segment.metadata = object_or_nothing(body, "metadata");
  return segment;
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

Reply internal_segments(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("segments", ads::list_segments(tx, std::nullopt, call.page()),
                              [](const ads::AudienceSegment& one) { return encode(one); })};
}

Reply create_ad_segment(db::Tx& tx, const Call& call, const Services&) {
  const auto segment = ads::create_segment(tx, decode_segment(call.body, {}));
  audit::record(tx, call.admin, "ad_segment.create", segment.id, call.body.dump());
  return {.status = 201, .body = {{"segment", encode(segment)}}};
}

Reply change_ad_segment(db::Tx& tx, const Call& call, const Services&) {
  const auto segment =
      ads::update_segment(tx, decode_segment(call.body, ads::get_segment(tx, call.id())));
  audit::record(tx, call.admin, "ad_segment.change", segment.id, call.body.dump());
  return {.body = {{"segment", encode(segment)}}};
}

constexpr Access access = oauth_token({Scope::campaigns_manage});

constexpr Placeholder segment_in_path = {"SegmentId", "The id of the audience.",
                                         "01936f5e-7c1a-7000-8000-00000000000e"};

constexpr Route rows[] = {
    {.request = "GET /api/v1/ads/segments",
     .name = "listAudienceSegments",
     .tag = "Ad market",
     .summary = "List the named audiences: those for everybody, and the app's own",
     .text = "Lists the audiences that the app's placements can be restricted to, oldest first.",
     .guards = {to_viewers(access), ad_reads},
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
     .guards = {to_billing(access), ad_writes},
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
     .guards = every_admin,
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
