#pragma once

#include <string>
#include <vector>

#include "controller/base/processes.h"
#include "controller/db/database.h"
#include "controller/domain/deployments/deployments.h"

// How many containers the autoscaler wants of each process that has `scale`
// (reconcilers/cluster/autoscaler.h). Such a process always has a row. It begins with `replicas`,
// which is what runs before it gets `scale`, within the limits.
namespace berth::deployments::scales {

struct Scaled {
  std::string deployment_id;
  std::string app_id;
  std::string process;
  Scale scale;
  int replicas = 1;  // that are wanted now, within the limits of `scale`
  Status status = Status::pending;
};
// All processes with `scale` of deployments that aren't destroyed, by their deployments' ids.
std::vector<Scaled> all(db::Tx& tx);

struct Change {
  std::string deployment_id;
  std::string process;
  int from = 1;
  int replicas = 1;
  double in_flight = 0;  // that it was decided by
  // The number before, as the entry in the deployment's log names it. If it is empty, there is no
  // entry: whoever makes the change limits how many there are.
  std::optional<int> logged_from = {};
};
// Stores the number, unless it is `from` and there is only something to log, and wakes the
// reconcilers. Returns false, and does nothing, if the process has the number already, has no
// `scale` any more, or the deployment neither runs nor is rolled out. Needs `replicas` within the
// limits of `scale`.
bool set(db::Tx& tx, const Change& change);

// The processes' containers have changed: each process that has `scale` now has a row, with a
// number within its limits, and no other has one. Private to this module.
void container_changed(db::Tx& tx, const std::string& deployment_id,
                       const ContainerSpec& container);

// Returns the number within the limits.
int within(const Scale& scale, int replicas);

}  // namespace berth::deployments::scales
