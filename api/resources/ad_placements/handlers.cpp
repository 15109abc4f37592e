// Placements.
#include "api/resources/ad_placements/handlers.h"

#include "api/gate/encode.h"
#include "controller/domain/ads/market.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

json encode(const ads::Placement& placement) {
  return {{"id", placement.id},
          {"name", placement.name},
          {"surface_type", placement.surface_type},
          {"app_id", or_null(placement.app_id)},
          {"description", placement.description},
          {"is_active", placement.is_active},
          {"inserted_at", to_iso8601(placement.inserted_at)},
          {"updated_at", to_iso8601(placement.updated_at)}};
}

ads::Placement decode_placement(const json& body, ads::Placement placement) {
  placement.name = body.value("name", placement.name);
  placement.surface_type = body.value("surface_type", placement.surface_type);
  placement.is_active = body.value("is_active", placement.is_active);
  if (body.contains("app_id")) placement.app_id = text_or_nothing(body, "app_id");
  if (body.contains("description"))
    placement.description = text_or_nothing(body, "description").value_or("");
  return placement;
}

}  // namespace

Reply market_placements(db::Tx& tx, const Call& call, const Services&) {
  return {.body =
              encode_page("placements", ads::list_placements(tx, ads::Which::active, call.page()),
                          [](const ads::Placement& one) { return encode(one); })};
}

Reply internal_placements(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("placements", ads::list_placements(tx, ads::Which::all, call.page()),
                              [](const ads::Placement& one) { return encode(one); })};
}

Reply create_ad_placement(db::Tx& tx, const Call& call, const Services&) {
  const auto placement = ads::create_placement(tx, decode_placement(call.body, {}));
  audit::record(tx, call.admin, "ad_placement.create", placement.id, call.body.dump());
  return {.status = 201, .body = {{"placement", encode(placement)}}};
}

Reply change_ad_placement(db::Tx& tx, const Call& call, const Services&) {
  const auto placement =
      ads::update_placement(tx, decode_placement(call.body, ads::get_placement(tx, call.id())));
  audit::record(tx, call.admin, "ad_placement.change", placement.id, call.body.dump());
  return {.body = {{"placement", encode(placement)}}};
}

}  // namespace berth::api
