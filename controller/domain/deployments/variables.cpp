#include "controller/domain/deployments/variables.h"

#include <algorithm>

#include "controller/base/crypto.h"
#include "controller/domain/deployments/app_variable_rows.h"
#include "controller/domain/deployments/deployment_rows.h"

namespace berth::deployments {
namespace {

constexpr size_t bytes_of_digest = 8;

std::string digest_of(const std::string& owner_id, const std::string& name,
                      const std::string& value, const std::string& data_key) {
  // A name contains no colon, so two variables never give the same text.
  const std::string mac = hmac_sha256(data_key, "variable:" + owner_id + ":" + name + ":" + value);
  return hex(mac.substr(0, bytes_of_digest));
}

}  // namespace

std::vector<Variable> shown_variables(const Secrets& secrets, VariableOrigin from,
                                      const std::string& owner_id, const std::string& data_key) {
  std::vector<Variable> result;
  for (const auto& [name, value] : secrets.env)
    result.push_back({.name = name,
                      .digest = digest_of(owner_id, name, value, data_key),
                      .set_at = secrets.env_set_at.at(name),
                      .from = from});
  return result;
}

std::vector<Variable> variables(db::Tx& tx, const std::string& app_id, const std::string& id,
                                const std::string& data_key) {
  if (get_owned(tx, app_id, id).status == Status::destroyed) return {};
  const Secrets own = own_secrets(tx, id, data_key);
  const Secrets of_app = secrets_of_app(tx, app_id, data_key);
  auto result = shown_variables(own, VariableOrigin::deployment, id, data_key);
  for (Variable& variable : result) variable.overrides = of_app.env.contains(variable.name);
  for (Variable& variable : shown_variables(of_app, VariableOrigin::app, app_id, data_key))
    if (!own.env.contains(variable.name)) result.push_back(std::move(variable));
  std::ranges::sort(result, {}, &Variable::name);
  return result;
}

}  // namespace berth::deployments
