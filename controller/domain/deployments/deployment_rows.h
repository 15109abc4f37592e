#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "controller/domain/deployments/deployments.h"

// How deployments and their log are stored. Private to this module.
namespace berth::deployments {

// "SELECT … FROM deployments d JOIN deploy_tiers t …", to be continued with a WHERE clause on `d`.
extern const std::string select_deployments;
Deployment deployment_of(const db::Query& row);

struct NewLogEntry {
  std::string action;
  std::string status;
  std::optional<std::string> initiated_by;
  std::optional<std::string> details;  // a JSON object
};
void write_log(db::Tx& tx, const std::string& deployment_id, const NewLogEntry& entry);

// Returns the app's deployment. Throws what get_owned() throws, and deployment_destroyed.
Deployment get_living(db::Tx& tx, const Actor& actor, const std::string& id);

struct SealedEnv {
  std::string keys;    // a JSON array
  std::string values;  // encrypted
};
SealedEnv seal_env(const std::string& deployment_id, const std::map<std::string, std::string>& env,
                   const std::string& data_key);
std::string seal_credentials(const std::string& deployment_id,
                             const RegistryCredentials& credentials, const std::string& data_key);

// Decrypts what was sealed. Throws std::runtime_error if key or context is wrong.
nlohmann::json open_json(const std::string& sealed, const std::string& data_key,
                         const std::string& context);

// Contexts of the encryption. They bind an encrypted value to its row and column, so that it can't
// be moved to another one.
std::string env_context(const std::string& deployment_id);
std::string credentials_context(const std::string& deployment_id);

}  // namespace berth::deployments
