#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "reconcilers/cluster/outcome.h"
#include "reconcilers/cluster/secrets.h"
#include "reconcilers/cluster/tenancy.h"

namespace berth::reconcilers {

// Removes destroyed deployments from the cluster: first their Ingress, which frees the host name,
// then their other objects, then the app's namespace if no other deployment uses it, and last the
// row's tombstone. Each call makes one step: it looks at what is left and never waits. Thread-safe
// for different ids.
class Removal {
 public:
  // `wake` is called with the id of a deployment that waited for the host name and may now go on.
  Removal(db::Database& database, kube::Client& client, Cache& cache, Tenancy& tenancy,
          const manifests::Settings& settings, std::function<void(const std::string&)> wake);

  // Makes the next step for `row`, whose status is `destroyed`. Throws kube::ApiError.
  Outcome step(const deployments::Deployment& row);

 private:
  using SteadyClock = std::chrono::steady_clock;

  // The cluster's garbage collector needs a moment to delete the pods; after this time berth
  // deletes them itself.
  static constexpr std::chrono::seconds garbage_collector_time{15};

  struct Progress {
    SteadyClock::time_point since = SteadyClock::now();
    bool host_is_free = false;
    bool secrets_are_gone = false;
    bool nothing_is_left = false;  // confirmed by the API server, not just by the cache
  };

  int remove(const std::vector<Tracked>& objects, const std::string& id);
  // Deletes the deployment's own Secrets, once; those of custom domains are the domain loop's.
  int remove_secrets(const deployments::Deployment& row);
  // Asks the API server for the objects that are left, since the cache may be behind.
  std::vector<Tracked> ask_for_rest(const deployments::Deployment& row);
  void free_host(const deployments::Deployment& row);
  Progress progress_of(const std::string& id);
  void finish(const deployments::Deployment& row);
  void forget(const std::string& id);
  void wake_holder(const std::string& name);

  db::Database& database_;
  kube::Client& client_;
  Cache& cache_;
  Tenancy& tenancy_;
  const manifests::Settings& settings_;
  Secrets secrets_;
  const std::function<void(const std::string&)> wake_;
  std::mutex mutex_;
  std::map<std::string, Progress> progress_;
};

}  // namespace berth::reconcilers
