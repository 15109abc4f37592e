#include "api/resources/shared.h"
#include "api/resources/tiers/handlers.h"

namespace berth::api {
namespace {

constexpr Access deploy = oauth_token({Scope::deploy_manage}, Access::ForApp::none);

constexpr Placeholder tier_in_path = {"TierId", "The id of the tier.",
                                      "01936f5e-7c1a-7000-8000-000000000004"};

constexpr Route rows[] = {
    {.request = "GET /api/deploy/tiers",
     .name = "listTiers",
     .tag = "Deployments",
     .summary = "List the deploy tiers",
     .text = "Lists all tiers with their prices and limits.",
     .guards = {deploy, deploy_reads},
     .answer = {200, "TierList"},
     .served_by = {"berth tiers", "/console/new"},
     .run = ReadHandler{list_tiers}},
    {.request = "GET /api/internal/deploy/tiers",
     .name = "internalListTiers",
     .tag = "Internal",
     .summary = "List the deploy tiers",
     .text = "Lists all tiers with their prices and limits.",
     .guards = admins,
     .answer = {200, "TierList"},
     .served_by = {"berth admin tiers list", "/console/admin"},
     .run = ReadHandler{internal_tiers}},
    {.request = "POST /api/internal/deploy/tiers",
     .name = "createTier",
     .tag = "Internal",
     .summary = "Add a deploy tier",
     .text = "Adds a tier, which operators can use at once if auto_approve is true, or after a "
             "promotion.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"CreateTierRequest"},
     .answer = {201, "TierEnvelope"},
     .idempotency = Idempotency::kept,
     .served_by = {"berth admin tiers create", "/console/admin"},
     .run = WriteHandler{create_tier}},
    {.request = "PATCH /api/internal/deploy/tiers/{id}",
     .name = "changeTier",
     .tag = "Internal",
     .summary = "Change a deploy tier; a new price applies from each deployment's next period, "
                "new sizes to deployments that move to the tier",
     .text = "Changes the fields that are sent. Running deployments keep their size, and their "
             "price until the next period. A change of runtime_class, user_namespaces or bandwidth "
             "replaces the containers of all of the tier's deployments, each as in a rollout; a "
             "change of smtp holds at once.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&tier_in_path},
     .body = {"ChangeTierRequest"},
     .answer = {200, "TierEnvelope"},
     .errors = {Code::tier_not_found},
     .served_by = {"berth admin tiers update", "/console/admin"},
     .run = WriteHandler{change_tier}},
};

}  // namespace

std::span<const Route> tiers_routes() { return rows; }

}  // namespace berth::api
