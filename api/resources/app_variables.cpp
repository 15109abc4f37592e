// Variables that an operator sets once for an app, and that all its deployments inherit.
#include "controller/domain/deployments/app_variables.h"

#include "api/gate/encode.h"
#include "api/resources/deployments.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

json encode_variables(const std::vector<deployments::Variable>& variables) {
  json list = json::array();
  for (const deployments::Variable& variable : variables) list.push_back(encode(variable));
  return list;
}

Reply list_app_variables(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = {{"variables", encode_variables(deployments::app_variables(
                                     tx, call.caller->app_id, services.keys.data))}}};
}

Reply change_app_variables(db::Tx& tx, const Call& call, const Services& services) {
  const json& asked = call.body.at("variables");
  const auto change = deployments::change_app_variables(
      tx, actor_of(call), decode_variable_changes(asked), services.keys.data);
  json replaced = json::array();
  for (const auto& deployment : change.replaced)
    replaced.push_back({{"id", deployment.id}, {"name", deployment.name}});
  json body = {{"variables", encode_variables(change.variables)},
               {"deployments", std::move(replaced)}};
  warn_of_port(asked, "variables", body);
  return {.body = std::move(body)};
}

constexpr Route rows[] = {
    {.request = "GET /api/deploy/variables",
     .name = "listAppVariables",
     .tag = "Deployments",
     .summary = "List the variables that all deployments of an app inherit, without their values",
     .text = "Lists the app's variables by name, each with a digest that changes when its value "
             "does, and the time at which it got its value. The values themselves are never "
             "returned.",
     .guards = {reads_deployments, deploy_reads},
     .answer = {200, "AppVariableList"},
     .served_by = {"berth env app list", "/console"},
     .run = ReadHandler{list_app_variables}},
    {.request = "PATCH /api/deploy/variables",
     .name = "changeAppVariables",
     .tag = "Deployments",
     .summary = "Set or remove variables that all deployments of an app inherit",
     .text = "Changes the variables that are sent; the others stay. A deployment's own variable "
             "takes the place of the app's with the same name. The containers of all deployments "
             "that get another value by the change are replaced without dropping requests; those "
             "that are stopped get it when they start. A rollback leaves these variables as they "
             "are. More than 500 deployments can't be reached by a change, which is then refused.",
     .guards = {changes_deployments, deploy_writes},
     .stores = Stores::deployments,
     .body = {"ChangeAppVariablesRequest"},
     .answer = {200, "AppVariablesChange"},
     .event = {SecurityKind::app_changed, "variables"},
     .served_by = {"berth env app set", "/console"},
     .run = WriteHandler{change_app_variables}},
};

}  // namespace

std::span<const Route> app_variables_routes() { return rows; }

}  // namespace berth::api
