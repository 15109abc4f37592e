#include "controller/domain/deployments/app_variables.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/db/enum_column.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/app_variable_rows.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/rules.h"
#include "controller/domain/kernel/audit.h"

namespace berth::deployments {
namespace {

// The name of the variables in requests.
constexpr const char* variables_field = "variables";

// The kinds of names in what described_variables() returns.
constexpr std::array<const char*, 3> kinds_of_names = {"added", "changed", "removed"};

struct Inheriting {
  std::string id;
  std::string name;
  Status status = Status::pending;
  std::int64_t generation = 0;
  nlohmann::json difference;  // what changes for it: without the names that it overrides
};

// Returns the difference without the names in `own`; null if nothing is left of it.
nlohmann::json without_names(nlohmann::json difference, const std::vector<std::string>& own) {
  bool is_empty = true;
  for (const char* kind : kinds_of_names) {
    nlohmann::json kept = nlohmann::json::array();
    for (const auto& name : difference.at(kind))
      if (std::ranges::find(own, name.get<std::string>()) == own.end()) kept.push_back(name);
    is_empty = is_empty && kept.empty();
    difference[kind] = std::move(kept);
  }
  return is_empty ? nlohmann::json() : difference;
}

// Returns the app's deployments for which something changes, oldest first.
std::vector<Inheriting> inheriting(db::Tx& tx, const std::string& app_id,
                                   const nlohmann::json& difference) {
  std::vector<Inheriting> found;
  auto rows = tx.query(R"(
      SELECT id, name, status, generation, env_keys
      FROM deployments
      WHERE app_id = $1 AND status <> 'destroyed'
      ORDER BY inserted_at, id)",
                       app_id);
  while (rows.next()) {
    const auto own = nlohmann::json::parse(rows.text("env_keys")).get<std::vector<std::string>>();
    nlohmann::json seen = without_names(difference, own);
    if (seen.is_null()) continue;
    if (found.size() == max_inheriting)
      throw invalid_field(variables_field,
                          "can't be changed while more than " + std::to_string(max_inheriting) +
                              " deployments inherit them; set them for the deployments instead");
    found.push_back({.id = rows.text("id"),
                     .name = rows.text("name"),
                     .status = db::enum_of<Status>(rows, "status"),
                     .generation = rows.integer("generation"),
                     .difference = std::move(seen)});
  }
  return found;
}

// Returns whether the deployment's container is replaced. That of a stopped one isn't, but its
// Secret is brought up to date.
bool begin_rollout(db::Tx& tx, const Actor& actor, const Inheriting& deployment) {
  if (deployment.status == Status::stopped) {
    tx.notify(db::Topic::deployment, deployment.id);
    return false;
  }
  begin_generation(
      tx, deployment.id,
      {.status = status_with_new_container(deployment.status), .request_id = actor.request_id});
  write_log(tx, deployment.id,
            {.action = LogAction::deploy,
             .status = LogStatus::started,
             .initiated_by = actor.user_id,
             .details = nlohmann::json{{"kind", app_variables_in_log},
                                       {"fields", {app_variables_in_log}},
                                       {"generation", deployment.generation + 1},
                                       {"changes", nlohmann::json::array({deployment.difference})}}
                            .dump()});
  return true;
}

}  // namespace

std::vector<Variable> app_variables(db::Tx& tx, const std::string& app_id,
                                    const std::string& data_key) {
  return shown_variables(secrets_of_app(tx, app_id, data_key), VariableOrigin::app, app_id,
                         data_key);
}

AppVariablesChange change_app_variables(
    db::Tx& tx, const Actor& actor,
    const std::map<std::string, std::optional<std::string>>& changes, const std::string& data_key) {
  tx.require_serializable();
  if (!apps::find(tx, actor.app_id)) throw Error(Code::app_not_found, "there is no such app");
  const Secrets before = secrets_of_app(tx, actor.app_id, data_key);
  Secrets after = before;
  change_variables(after, changes);
  check_variables(after.env, variables_field);
  AppVariablesChange result;
  if (after.env != before.env) {
    nlohmann::json difference = described_variables(before, after);
    difference["field"] = app_variables_in_log;
    for (const Inheriting& one : inheriting(tx, actor.app_id, difference))
      if (begin_rollout(tx, actor, one))
        result.replaced.push_back({.id = one.id, .name = one.name});
    store_secrets_of_app(tx, actor.app_id, before, after, data_key);
    difference.erase("field");
    audit::record(tx, actor.user_id, "app.variables", actor.app_id, difference.dump());
  }
  result.variables = app_variables(tx, actor.app_id, data_key);
  return result;
}

void forget_app_variables(db::Tx& tx, const std::string& app_id) {
  tx.execute(R"(DELETE FROM app_variables WHERE app_id = $1)", app_id);
}

}  // namespace berth::deployments
