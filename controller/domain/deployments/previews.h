#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/deployments.h"

// Previews: copies of deployments, for a limited time and with a limit of points.
namespace berth::previews {

inline constexpr Duration shortest = std::chrono::minutes(1);
inline constexpr Duration longest = std::chrono::days(30);
inline constexpr int max_of_deployment = 10;

struct Wanted {
  std::string name;
  Duration ttl = std::chrono::hours(24);
  std::optional<std::string> image;        // another image than the deployment's
  std::map<std::string, std::string> env;  // the deployment's own variables aren't copied
  // Points for 30 days, at which it is stopped; more than 30 days of the tier cost.
  std::optional<std::int64_t> budget;
};
struct Preview {
  deployments::Deployment deployment;
  Instant expires_at;
};

// Creates a deployment that runs what `of_id` runs, on its tier, with one container of each process
// and without its variables, labels, crons, domain and deploys on push. Throws what
// deployments::create() throws, deployment_not_found, validation_failed for a time out of range,
// deployment_suspended, budget_reached if the budget isn't above the price of 30 days, and
// invalid_state for a preview of a preview, and if the deployment has max_of_deployment.
Preview create(db::Tx& tx, const deployments::Actor& actor, const std::string& of_id,
               const Wanted& wanted, const deployments::Rules& rules, const std::string& data_key);
// Returns the previews of the deployment, the one that ends first in front.
std::vector<Preview> list(db::Tx& tx, const std::string& app_id, const std::string& of_id);

// To be called when a deployment is deleted: its previews end now, and if it is one itself, it is
// forgotten.
void deleted(db::Tx& tx, const std::string& deployment_id);

// For the loop. Returns the ids of previews whose time is over; at most `most`.
std::vector<std::string> expired(db::Tx& tx, int most);
// Deletes the preview's deployment, if it isn't deleted already, and forgets that it was a preview.
void end(db::Tx& tx, const std::string& deployment_id);

}  // namespace berth::previews
