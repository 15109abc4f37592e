#pragma once

#include <string>
#include <vector>

#include "manifests/manifests.h"
#include "reconcilers/cluster/cache.h"

namespace berth::reconcilers {

// The Secrets on the cluster. berthd writes and deletes them by their names and never reads them,
// so that whoever steals its token can't read the Secrets of others either. It learns
// which Secrets exist from objects that it may read: a Deployment is applied after its Secrets and
// contains their hash. So a Secret that somebody else changes or deletes is only written again when
// the deployment is restarted or changed. write() and remove() throw kube::ApiError. Thread-safe
// for different deployments.
class Secrets {
 public:
  Secrets(kube::Client& client, Cache& cache) : client_(client), cache_(cache) {}

  // Writes the Secrets among the objects of a deployment, unless its Deployments on the cluster say
  // that they are there. These say nothing from then on until they are applied: should they be
  // refused, and the Secrets of before be wanted again, these are written again. Deletes the one
  // with registry credentials, and empties the one with variables, if the deployment has none any
  // more. Returns the number of writes.
  int write(const std::vector<Object>& desired);

  // Deletes Secrets by their names. Does nothing if the namespace doesn't exist or is being
  // deleted, because its Secrets are deleted with it. Returns how many Secrets there were.
  int remove(const std::string& name_space, const std::vector<std::string>& names);

 private:
  int forget_hash(const Object& deployment);

  kube::Client& client_;
  Cache& cache_;
};

bool is_secret(const Object& object);

}  // namespace berth::reconcilers
