#pragma once

#include <string>
#include <vector>

#include "manifests/manifests.h"
#include "reconcilers/cluster/cache.h"

namespace berth::reconcilers {

// The Secrets on the cluster. berthd writes and deletes them by their names and never reads them,
// so that whoever steals its token can't read the Secrets of others either. Which Secrets are there
// follows from objects that it may read: a Deployment is applied after its Secrets and names their
// hash. So a Secret that somebody changes or deletes is written again at the deployment's next
// rollout. The functions that write throw kube::ApiError. Thread-safe for different deployments.
class Secrets {
 public:
  Secrets(kube::Client& client, const Cache& cache) : client_(client), cache_(cache) {}

  // Writes the Secrets among the objects of a deployment, unless its Deployment on the cluster says
  // that they are there. Deletes the one with registry credentials if the deployment has none any
  // more. Returns the number of writes.
  int write(const std::vector<Object>& desired);

  // Deletes Secrets by their names. Does nothing if the namespace isn't there or is leaving, which
  // takes the Secrets with it. Returns how many there were.
  int remove(const std::string& name_space, const std::vector<std::string>& names);

 private:
  int remove_credentials(const std::vector<Object>& desired);
  bool are_written(const std::vector<Object>& desired) const;

  kube::Client& client_;
  const Cache& cache_;
};

bool is_secret(const Object& object);

}  // namespace berth::reconcilers
