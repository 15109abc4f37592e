#include "api/resources/operators/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Errors owned = {Code::app_not_found, Code::forbidden};

constexpr Placeholder operator_in_path = {"OperatorId", "The id of the app.",
                                          "01936f5e-7c1a-7000-8000-000000000002"};

constexpr Route rows[] = {
    {.request = "GET /api/operators",
     .name = "listOperators",
     .tag = "Operators",
     .summary = "List the apps that are listed publicly",
     .text = "Lists the apps whose owners have set listed, newest first.",
     .guards = {open_to_all(), account_reads},
     .paged = true,
     .answer = {200, "PublicOperatorList"},
     .served_by = {.neither = shown_by_sites},
     .run = ReadHandler{list_operators}},
    {.request = "GET /api/operators/{id}",
     .name = "getOperator",
     .tag = "Operators",
     .summary = "Show an app that is listed publicly",
     .text = "Returns one listed app.",
     .guards = {open_to_all(), account_reads},
     .in_path = {&operator_in_path},
     .answer = {200, "PublicOperatorEnvelope"},
     .errors = {Code::app_not_found},
     .served_by = {.neither = shown_by_sites},
     .run = ReadHandler{get_operator}},
    {.request = "GET /api/operator/apps",
     .name = "listOperatorApps",
     .tag = "Operators",
     .summary = "List the caller's apps with their approval and suspension",
     .text = "Lists the apps that the caller owns, newest first, with their number of users.",
     .guards = {person(), account_reads},
     .paged = true,
     .answer = {200, "OperatorAppList"},
     .served_by = {.page = "/console/apps"},
     .run = ReadHandler{list_operator_apps}},
    {.request = "GET /api/operator/apps/{id}",
     .name = "getOperatorApp",
     .tag = "Operators",
     .summary = "Show one of the caller's apps",
     .text = "Returns one of the caller's apps with its settings and its number of users.",
     .guards = {person(), account_reads},
     .in_path = {&own_app_in_path},
     .answer = {200, "OperatorAppEnvelope"},
     .errors = owned,
     .served_by = {.neither = "`berth apps` shows the same with another operation."},
     .run = ReadHandler{get_operator_app}},
    {.request = "PUT /api/operator/apps/{id}",
     .name = "updateOperatorApp",
     .tag = "Operators",
     .summary = "Change one of the caller's apps",
     .text = "Changes the fields that are sent. New scopes that aren't automatic are requested "
             "from the administrators; removed ones lose their approval at once.",
     .guards = {person(), account_writes},
     .stores = Stores::apps,
     .in_path = {&own_app_in_path},
     .body = {"OperatorAppChanges"},
     .answer = {200, "OperatorAppUpdateEnvelope"},
     .errors = owned,
     .event = {SecurityKind::app_changed, "changed"},
     .served_by = {.page = "/console/apps"},
     .run = WriteHandler{update_operator_app}},
    {.request = "DELETE /api/operator/apps/{id}",
     .name = "deleteOperatorApp",
     .tag = "Operators",
     .summary = "Delete one of the caller's apps for good; its points go to the treasury",
     .text = "Deletes the app with its tokens, consents and webhooks. Its points go to the "
             "treasury. It is refused while the app has deployments or campaigns.",
     .guards = {person(), account_writes},
     .stores = Stores::nothing,
     .in_path = {&own_app_in_path},
     .answer = {200, "DeletedApp"},
     .errors = {Code::app_not_found, Code::forbidden, Code::invalid_state},
     .event = {SecurityKind::app_changed, "deleted"},
     .served_by = {"berth apps delete", "/console/apps"},
     .run = WriteHandler{delete_operator_app}},
};

}  // namespace

std::span<const Route> operators_routes() { return rows; }

}  // namespace berth::api
