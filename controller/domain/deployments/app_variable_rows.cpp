#include "controller/domain/deployments/app_variable_rows.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/db/enum_column.h"

namespace berth::deployments {
namespace {

// An AES context: a sealed value can't be moved to another app or name.
std::string value_context(const std::string& app_id, const std::string& name) {
  return "app-variable:" + app_id + ":" + name;
}

std::string open_value(const std::string& sealed, const std::string& app_id,
                       const std::string& name, const std::string& data_key) {
  const auto bytes = parse_base64(sealed);
  const auto value =
      bytes ? open_sealed(data_key, *bytes, value_context(app_id, name)) : std::nullopt;
  if (!value)
    throw std::runtime_error("a variable of the app " + app_id +
                             " can't be decrypted with this data key");
  return *value;
}

// How many of the newest entries of a log are looked through for the beginning of a rollout. More
// come between only if its container fails again and again.
constexpr int entries_looked_through = 20;

}  // namespace

Secrets secrets_of_app(db::Tx& tx, const std::string& app_id, const std::string& data_key) {
  Secrets result;
  auto rows =
      tx.query(R"(SELECT name, value_sealed, set_at FROM app_variables WHERE app_id = $1)", app_id);
  while (rows.next()) {
    const std::string name = rows.text("name");
    result.env[name] = open_value(rows.text("value_sealed"), app_id, name, data_key);
    result.env_set_at[name] = rows.instant("set_at");
  }
  return result;
}

void store_secrets_of_app(db::Tx& tx, const std::string& app_id, const Secrets& before,
                          const Secrets& after, const std::string& data_key) {
  for (const auto& [name, value] : before.env)
    if (!after.env.contains(name))
      tx.execute(R"(DELETE FROM app_variables WHERE app_id = $1 AND name = $2)", app_id, name);
  for (const auto& [name, value] : after.env) {
    const auto was = before.env.find(name);
    if (was != before.env.end() && was->second == value) continue;
    tx.execute(R"(
        INSERT INTO app_variables (app_id, name, value_sealed, set_at)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT (app_id, name) DO UPDATE
        SET value_sealed = excluded.value_sealed, set_at = excluded.set_at)",
               app_id, name, base64(berth::seal(data_key, value, value_context(app_id, name))),
               tx.now());
  }
}

Secrets with_inherited(Secrets own, const Secrets& of_app) {
  own.env_set_at.insert(of_app.env_set_at.begin(), of_app.env_set_at.end());
  own.env.insert(of_app.env.begin(), of_app.env.end());  // keeps values that are there
  return own;
}

std::optional<BegunRollout> begun_by_app_variables(db::Tx& tx, const Deployment& row) {
  auto rows = tx.query(
      R"(
      SELECT status, initiated_by, details, inserted_at
      FROM deploy_logs
      WHERE deployment_id = $1
      ORDER BY number DESC
      LIMIT $2)",
      row.id, entries_looked_through);
  while (rows.next()) {
    const auto details = nlohmann::json::parse(rows.text_or_null("details").value_or("{}"));
    if (details.value("generation", std::int64_t(0)) != row.generation) continue;
    const auto status = db::enum_of<LogStatus>(rows, "status");
    if (status == LogStatus::succeeded) return std::nullopt;
    if (status == LogStatus::started && details.value("kind", "") == app_variables_in_log)
      return BegunRollout{.kind = app_variables_in_log,
                          .initiated_by = rows.text_or_null("initiated_by"),
                          .image = row.container.image,
                          .started_at = rows.instant("inserted_at")};
  }
  return std::nullopt;
}

}  // namespace berth::deployments
