// Handlers of placements, the places in apps where ads are shown. Operators read them,
// administrators change them.
#include "api/gate/encode.h"
#include "api/resources/shared.h"
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

constexpr Access access = oauth_token({Scope::campaigns_manage});

constexpr Placeholder placement_in_path = {"PlacementId", "The id of the placement.",
                                           "01936f5e-7c1a-7000-8000-00000000000c"};

constexpr Route rows[] = {
    {.request = "GET /api/v1/ads/placements",
     .name = "listAdPlacements",
     .tag = "Ad market",
     .summary = "List the places where ads can be shown",
     .text = "Lists the active placements, in which campaigns can be placed.",
     .guards = {to_viewers(access), ad_reads},
     .paged = true,
     .answer = {200, "AdPlacementList"},
     .served_by = {.page = "/console/campaigns"},
     .run = ReadHandler{market_placements}},
    {.request = "GET /api/internal/ads/placements",
     .name = "internalListAdPlacements",
     .tag = "Internal",
     .summary = "List all placements of the ad market",
     .text = "Lists all placements, also inactive ones, oldest first.",
     .guards = every_admin,
     .paged = true,
     .answer = {200, "AdPlacementList"},
     .served_by = {.page = "/console/admin"},
     .run = ReadHandler{internal_placements}},
    {.request = "POST /api/internal/ads/placements",
     .name = "createAdPlacement",
     .tag = "Internal",
     .summary = "Add a place where ads can be shown",
     .text = "Adds a placement of one surface type, for one app or for all.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"CreateAdPlacementRequest"},
     .answer = {201, "AdPlacementEnvelope"},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{create_ad_placement}},
    {.request = "PATCH /api/internal/ads/placements/{id}",
     .name = "changeAdPlacement",
     .tag = "Internal",
     .summary = "Change a place where ads can be shown",
     .text = "Changes the fields that are sent. In an inactive placement no ads are served.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&placement_in_path},
     .body = {"ChangeAdPlacementRequest"},
     .answer = {200, "AdPlacementEnvelope"},
     .errors = {Code::placement_not_found},
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{change_ad_placement}},
};

}  // namespace

std::span<const Route> ad_placements_routes() { return rows; }

}  // namespace berth::api
