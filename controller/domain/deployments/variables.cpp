#include "controller/domain/deployments/variables.h"

#include "controller/base/crypto.h"

namespace berth::deployments {
namespace {

constexpr size_t bytes_of_digest = 8;

std::string digest_of(const std::string& deployment_id, const std::string& name,
                      const std::string& value, const std::string& data_key) {
  // A name contains no colon, so two variables never give the same text.
  const std::string mac =
      hmac_sha256(data_key, "variable:" + deployment_id + ":" + name + ":" + value);
  return hex(mac.substr(0, bytes_of_digest));
}

}  // namespace

std::vector<Variable> variables(db::Tx& tx, const std::string& app_id, const std::string& id,
                                const std::string& data_key) {
  get_owned(tx, app_id, id);
  const auto state = desired_state(tx, id, data_key);
  std::vector<Variable> result;
  if (!state) return result;
  for (const auto& [name, value] : state->secrets.env)
    result.push_back({.name = name,
                      .digest = digest_of(id, name, value, data_key),
                      .set_at = state->secrets.env_set_at.at(name)});
  return result;
}

}  // namespace berth::deployments
