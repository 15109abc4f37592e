#pragma once

#include <functional>
#include <set>
#include <string>

#include "reconcilers/cluster/observe.h"
#include "reconcilers/cluster/removal.h"
#include "reconcilers/cluster/subdomain_certificates.h"

namespace berth::reconcilers {

// Makes the cluster match the rows. Level-based: a reconcile takes an id and nothing else, is safe
// at any time and any number of times, and holds no transaction while it talks to the cluster.
// Thread- safe for different ids.
class DeploymentLoop {
 public:
  struct Parts {
    db::Database& database;
    kube::Client& client;
    Cache& cache;
    const manifests::Settings& settings;
    const std::string& data_key;  // opens the rows' secrets
    Patience patience;
    KeyedMutex& deployments;  // held, by id, by whoever writes objects of a deployment
    std::function<void(const std::string& id)> wake;  // puts an id into the queue
  };
  explicit DeploymentLoop(Parts parts);

  // What a reconcile was about, for the log; empty where there is no row.
  struct Subject {
    std::string name_space;
    std::int64_t generation = 0;
    std::string request_id;
  };
  // Fills `subject` in any case. Throws kube::ApiError where the cluster has to be tried again,
  // berth::Error where the database has.
  Outcome reconcile(const std::string& id, Subject& subject);

  // The same as long as nothing may be written to the cluster: records at most that it is out of
  // reach. To be called again after `again`; where that is empty, not before something changes.
  Outcome stand_by(const std::string& id, Subject& subject);

  // The app's namespace, or what stands in it, changed.
  void app_changed(const std::string& app_id);
  // Ids of objects with our labels whose deployments have no row. They are never touched.
  std::set<std::string> orphans() const;

 private:
  Outcome remove(const deployments::Deployment& row);
  Outcome make(const deployments::Deployment& row);
  struct Wanted;
  std::optional<Wanted> wanted(const std::string& id);
  Outcome make_under_lock(Wanted& wanted);
  Outcome apply_and_observe(Wanted& wanted);
  Outcome without_cache(const deployments::Deployment& row);
  Outcome wait_for_namespace(const deployments::Deployment& row);
  Outcome on_failure(const deployments::Deployment& row, const kube::ApiError& error);
  Outcome orphan(const std::string& id);

  bool is_held_by_another(const deployments::Deployment& row);
  int remove_unwanted(const std::string& id, const std::vector<Object>& desired);
  bool is_too_early(const std::string& id, const std::vector<Object>& desired);
  Live look(const std::string& id);
  // False where the row says so already.
  bool record(const deployments::Deployment& row, const deployments::Observation& seen);

  const Parts parts_;
  Applier applier_;
  Tenancy tenancy_;
  Removal removal_;
  SubdomainCertificates certificates_;
  KeyedMutex names_;

  mutable std::mutex mutex_;
  std::map<std::string, std::set<std::string>> waiting_for_namespace_;  // by app
  std::set<std::string> orphans_;
};

}  // namespace berth::reconcilers
