#pragma once

#include <optional>
#include <string>

#include "controller/domain/deployments.h"

// How deployments and their log are stored; for the files of this folder alone.
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

// AES contexts: a sealed value can't be moved to another row or column.
std::string env_context(const std::string& deployment_id);
std::string credentials_context(const std::string& deployment_id);

}  // namespace berth::deployments
