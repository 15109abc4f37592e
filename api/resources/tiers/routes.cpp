#include "api/resources/routes.h"

#include "api/resources/tiers/handlers.h"

namespace berth::api {

std::vector<Route> tiers_routes() {
  const Access deploy = oauth_token({Scope::deploy_manage}, Access::ForApp::none);
  return {
      {.method = "GET",
       .path = "/api/deploy/tiers",
       .name = "listTiers",
       .tag = "Deployments",
       .summary = "List the deploy tiers",
       .access = deploy,
       .rate = deploy_reads,
       .answer = {200, "TierList"},
       .run = ReadHandler{list_tiers}},
      {.method = "GET",
       .path = "/api/internal/deploy/tiers",
       .name = "internalListTiers",
       .tag = "Internal",
       .summary = "List the deploy tiers",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .answer = {200, "TierList"},
       .run = ReadHandler{internal_tiers}},
      {.method = "POST",
       .path = "/api/internal/deploy/tiers",
       .name = "createTier",
       .tag = "Internal",
       .summary = "Add a deploy tier",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "CreateTierRequest",
       .answer = {201, "TierEnvelope"},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{create_tier}},
      {.method = "PATCH",
       .path = "/api/internal/deploy/tiers/{id}",
       .name = "changeTier",
       .tag = "Internal",
       .summary = "Change a deploy tier; a new price applies from each deployment's next period, "
                  "new sizes to deployments that move to the tier",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "ChangeTierRequest",
       .answer = {200, "TierEnvelope"},
       .errors = {Code::tier_not_found},
       .run = WriteHandler{change_tier}},
  };
}

}  // namespace berth::api
