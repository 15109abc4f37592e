#pragma once

#include <string>
#include <vector>

#include "controller/base/processes.h"
#include "controller/db/database.h"
#include "controller/domain/deployments/deployments.h"

// How many containers the autoscaler wants of each process that has `scale`
// (reconcilers/cluster/autoscaler.h). Such a process always has a row; it begins with the least
// number.
namespace berth::deployments::scales {

struct Scaled {
  std::string deployment_id;
  std::string process;
  Scale scale;
  int replicas = 1;  // that are wanted now, within the limits of `scale`
  Status status = Status::pending;
};
// All processes with `scale` of deployments that aren't destroyed, by their deployments' ids.
std::vector<Scaled> all(db::Tx& tx);

// What the deployment's log gets for a change. Entries are written by who makes the change, because
// they are to be few.
struct Change {
  std::string deployment_id;
  std::string process;
  int replicas = 1;
  double in_flight = 0;  // that it was decided by
  // The number before, as the log's entry names it; no entry is written if it is empty.
  std::optional<int> logged_from = {};
};
// Stores the number and wakes the reconcilers. Returns false, and changes nothing, if the process
// has that number already, has no `scale` any more, or the deployment neither runs nor is rolled
// out. Needs `replicas` within the limits of `scale`.
bool set(db::Tx& tx, const Change& change);

// The processes' containers have changed: each process that has `scale` now has a row, and no other
// has one. Private to this module.
void container_changed(db::Tx& tx, const std::string& deployment_id,
                       const ContainerSpec& container);

// Returns the number within the limits.
int within(const Scale& scale, int replicas);

}  // namespace berth::deployments::scales
