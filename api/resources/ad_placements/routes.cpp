#include "api/resources/routes.h"

#include "api/resources/ad_placements/handlers.h"

namespace berth::api {

std::vector<Route> ad_placements_routes() {
  const Access access = oauth_token({Scope::campaigns_manage});
  return {
      {.method = "GET",
       .path = "/api/v1/ads/placements",
       .name = "listAdPlacements",
       .tag = "Ad market",
       .summary = "List the places where ads can be shown",
       .access = access,
       .rate = ad_reads,
       .query = paged,
       .answer = {200, "AdPlacementList"},
       .run = ReadHandler{market_placements}},
      {.method = "GET",
       .path = "/api/internal/ads/placements",
       .name = "internalListAdPlacements",
       .tag = "Internal",
       .summary = "List all placements of the ad market",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .query = paged,
       .answer = {200, "AdPlacementList"},
       .run = ReadHandler{internal_placements}},
      {.method = "POST",
       .path = "/api/internal/ads/placements",
       .name = "createAdPlacement",
       .tag = "Internal",
       .summary = "Add a place where ads can be shown",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "CreateAdPlacementRequest",
       .answer = {201, "AdPlacementEnvelope"},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{create_ad_placement}},
      {.method = "PATCH",
       .path = "/api/internal/ads/placements/{id}",
       .name = "changeAdPlacement",
       .tag = "Internal",
       .summary = "Change a place where ads can be shown",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "ChangeAdPlacementRequest",
       .answer = {200, "AdPlacementEnvelope"},
       .errors = {Code::placement_not_found},
       .run = WriteHandler{change_ad_placement}},
  };
}

}  // namespace berth::api
