// Audience segments.
#include "api/resources/ad_segments/handlers.h"

#include "api/gate/encode.h"
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

}  // namespace

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

}  // namespace berth::api
