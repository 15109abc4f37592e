#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "reconcilers/cluster/outcome.h"
#include "reconcilers/cluster/tenancy.h"

namespace berth::reconcilers {

// Takes destroyed deployments off the cluster: their objects first, the host name before all
// others, then the app's namespace if nobody lives there, then the row's tombstone. A step at a
// time: each looks at what is left and never waits. Thread-safe for different ids.
class Removal {
 public:
  // `wake` is called with the id of a deployment that may go on: it waits for the host name.
  Removal(db::Database& database, kube::Client& client, Cache& cache, Tenancy& tenancy,
          const manifests::Settings& settings, std::function<void(const std::string&)> wake);

  // `row` is destroyed. Throws kube::ApiError.
  Outcome step(const deployments::Deployment& row);

 private:
  using SteadyClock = std::chrono::steady_clock;

  // The garbage collector of the cluster takes a moment for the pods; after this we help.
  static constexpr std::chrono::seconds garbage_collector_time{15};

  struct Progress {
    SteadyClock::time_point since = SteadyClock::now();
    bool host_is_free = false;
    bool nothing_is_left = false;  // says the server itself
  };

  int remove(const std::vector<Tracked>& objects, const std::string& id);
  // What the server itself still has, whatever the cache says.
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
  const std::function<void(const std::string&)> wake_;
  std::mutex mutex_;
  std::map<std::string, Progress> progress_;
};

}  // namespace berth::reconcilers
