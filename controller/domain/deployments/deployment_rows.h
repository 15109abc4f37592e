#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/deployments.h"

// How deployments and their log are stored. Private to this module.
namespace berth::deployments {

// "SELECT … FROM deployments d JOIN deploy_tiers t …", to be continued with a WHERE clause on `d`.
extern const std::string select_deployments;
Deployment deployment_of(const db::Query& row);

// The stored form of a container's secrets, in the tables deployments and deployment_revisions.
// "Sealed" values are encrypted with the data key.
struct SealedSecrets {
  std::string env_keys;  // a JSON array, not sealed
  std::string env;
  std::optional<std::string> credentials;
};
// Variables without a time get `now`.
SealedSecrets seal(const Secrets& secrets, const std::string& deployment_id,
                   const std::string& data_key, Instant now);
// Throws std::runtime_error if the data key isn't the one that sealed them, or if they are those of
// another deployment.
Secrets open(const SealedSecrets& sealed, const std::string& deployment_id,
             const std::string& data_key);

// Returns the secrets of a deployment that isn't destroyed, without what it inherits. Throws as
// open().
Secrets own_secrets(db::Tx& tx, const std::string& id, const std::string& data_key);

// These functions read a row of deployments or of deployment_revisions: the first one needs the
// container_columns, the second one env_keys, env_sealed and credentials_sealed.
ContainerSpec container_of(const db::Query& row);
SealedSecrets sealed_secrets_of(const db::Query& row);

// Creates the row of a deployment, in status pending.
void insert(db::Tx& tx, const std::string& id, const Actor& actor, const Order& order,
            const tiers::Tier& tier, const std::string& owner_id, const std::string& data_key);
// Stores the parts of an order that may change (all but its name and tier) and that differ from
// `before`, which is what the row has now. If the container or the secrets differ, the caller has
// to call begin_generation() afterwards.
void store(db::Tx& tx, const std::string& id, const Order& before, const Order& order,
           const std::string& data_key);
// Stores the container alone, without its crons' next times (runs/crons.h).
void store_container(db::Tx& tx, const std::string& id, const ContainerSpec& container);
// Stores how many containers the deployment may have at once, and what all of them need together,
// by the container's processes and the row's limits. To be called after either has changed.
void store_most(db::Tx& tx, const std::string& id, const ContainerSpec& container);

// Whether the next generation starts a new container even if its description stays the same.
enum class Replace { if_it_differs, always };

// The values that a new generation of a deployment begins with.
struct NewGeneration {
  Status status = Status::deploying;
  // The id of the HTTP request that asks for it, or what berthd does it for.
  std::string request_id;
  Replace replace = Replace::if_it_differs;
  std::optional<Reason> reason = {};
  std::optional<std::string> message = {};
};
// Raises the deployment's generation, clears the state observed of the previous one, and wakes the
// reconcilers. Nothing else raises a generation. A deployment that is stopped or deleted has its
// runs cancelled (runs/runs.h). The times of stopping and deleting follow from the status: a
// deployment that was stopped keeps its time.
void begin_generation(db::Tx& tx, const std::string& id, const NewGeneration& next);
// Returns the deployment's process_rollouts with those of the processes `replaced` raised.
// Processes that are gone are left out, so that the column doesn't grow.
std::map<std::string, std::int64_t> next_rollouts(const Deployment& row,
                                                  const std::vector<std::string>& replaced);
// The status of a deployment whose container is changed: it is deploying, unless it is stopped or
// has never been deployed.
Status status_with_new_container(Status status);

struct NewLogEntry {
  LogAction action = LogAction::deploy;
  LogStatus status = LogStatus::info;
  std::optional<std::string> initiated_by;
  std::optional<std::string> details;  // a JSON object
};
// How many entries of a deployment are kept: the newest.
inline constexpr int kept_log_entries = 10'000;
void write_log(db::Tx& tx, const std::string& deployment_id, const NewLogEntry& entry);

// Returns the app's deployment. Throws what get_owned() throws, and deployment_destroyed.
Deployment get_living(db::Tx& tx, const Actor& actor, const std::string& id);

}  // namespace berth::deployments
