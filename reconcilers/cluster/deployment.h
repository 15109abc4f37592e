#pragma once

#include <functional>
#include <set>
#include <string>

#include "reconcilers/cluster/image_check.h"
#include "reconcilers/cluster/observe.h"
#include "reconcilers/cluster/removal.h"
#include "reconcilers/cluster/resizing.h"
#include "reconcilers/cluster/run_recorder.h"
#include "reconcilers/cluster/secrets.h"
#include "reconcilers/cluster/subdomain_certificates.h"

namespace berth::reconcilers {

// Makes the cluster match the rows of deployments. The loop is level-based: a reconcile takes
// nothing but an id, may run at any time and any number of times, and holds no transaction while it
// talks to the cluster. Thread-safe for different ids.
class DeploymentLoop {
 public:
  struct Parts {
    db::Database& database;
    kube::Client& client;
    Cache& cache;
    const manifests::Settings& settings;
    const std::string& data_key;  // decrypts the secrets in the rows
    Patience patience;
    // Locked, by deployment id, by everyone who writes objects of that deployment.
    KeyedMutex& deployments;
    std::function<void(const std::string& id)> wake;  // puts an id into the queue
    ImageCheck& images;
    RunRecorder& runs;
    // Whether pods can have a user namespace where their tier leaves that open.
    std::function<bool()> has_user_namespaces = [] { return false; };
    // Why deployments that aren't on the cluster yet have to wait; empty if they needn't.
    std::function<std::string()> why_new_ones_wait = {};
  };
  explicit DeploymentLoop(Parts parts);

  // What a reconcile was about, for the log. The fields are empty if the deployment has no row.
  struct Subject {
    std::string name_space;
    std::int64_t generation = 0;
    std::string request_id;
  };
  // Brings the cluster to the state that the row wants, and records what was observed. Always fills
  // `subject`. Throws kube::ApiError if the cluster has to be tried again, and berth::Error if the
  // database has to be.
  Outcome reconcile(const std::string& id, Subject& subject);

  // Takes the place of reconcile() while this process may not write to the cluster: at most it
  // records on the row that the cluster is unreachable. The caller repeats it after
  // `Outcome::again`; if that is empty, nothing has to be done until something changes.
  Outcome stand_by(const std::string& id, Subject& subject);

  // Wakes every deployment of an app whose namespace, or an object shared in it, has changed.
  void app_changed(const std::string& app_id);
  // Tells the meter what has run of the deployment, and does nothing else for it. Doesn't wait for
  // its reconcile if that is under way. Throws what the database throws.
  void look_at_runs(const std::string& id);
  // Returns the ids of deployments that have objects with berth's labels on the cluster but no row.
  // Those objects are never touched.
  std::set<std::string> orphans() const;

 private:
  Outcome remove(const deployments::Deployment& row);
  Outcome make(const deployments::Deployment& row);
  struct Wanted;
  std::optional<Wanted> wanted(const std::string& id);
  Outcome make_under_lock(Wanted& wanted);
  Outcome apply_and_observe(Wanted& wanted);
  Outcome without_cache(const deployments::Deployment& row);
  std::vector<Object> desired_objects(deployments::DesiredState& state);
  // The same, with those templates as they are whose containers get another size in place, if
  // nothing else replaces them. Fills `resizings` with what is to be done for that.
  std::vector<Object> desired_objects(deployments::DesiredState& state,
                                      std::vector<Resizing>& resizings);
  // Whether applying `desired` makes nodes start containers of another template.
  bool starts_containers(const std::string& id, const std::vector<Object>& desired) const;
  struct Resized {
    int writes = 0;
    bool is_under_way = false;
    bool is_given_up = false;  // the containers have to be replaced, which is recorded
  };
  Resized resize(const deployments::Deployment& row, const std::vector<Resizing>& resizings);
  // Asks the API server to give the pods their size. Returns why it doesn't; empty if it does.
  std::string ask_for_size(const deployments::Deployment& row, const Resizing& resizing,
                           int& writes);
  bool serves_resize();
  void keep_serving_unlabelled(const std::string& id, std::vector<Object>& desired);
  // Records why the deployment isn't brought to the cluster, if it isn't there yet and has to wait.
  std::optional<Outcome> hold_back(const deployments::Deployment& row);
  // Asks for the size of the image that a node would have to pull. Returns an outcome if the
  // deployment has to wait for the answer or may not have the image.
  std::optional<Outcome> check_image(const deployments::DesiredState& state,
                                     const std::vector<Object>& desired);
  // Has the release command run that comes before the rollout. Returns an outcome while it runs and
  // after it has failed; nothing of the rollout may be applied then.
  std::optional<Outcome> wait_for_release(const deployments::Deployment& row);
  // Repairs what leads requests to containers that run, whichever their version is.
  void keep_paths(const std::string& id, std::vector<Object> desired);
  // Gives processes whose containers run as many of them as are wanted, because the load doesn't
  // wait for the release, which may take hours or have failed. Takes none away. Returns the number
  // of writes.
  int add_containers(const std::string& id, const std::vector<Object>& desired);
  // Records why the deployment isn't brought to the cluster as it is wanted.
  Outcome refuse(const deployments::Deployment& row, const deployments::Observation& seen,
                 std::optional<std::chrono::milliseconds> again);
  Outcome wait_for_namespace(const deployments::Deployment& row);
  bool waits_for_rights(const deployments::Deployment& row, const kube::ApiError& error) const;
  Outcome on_failure(const deployments::Deployment& row, const kube::ApiError& error);
  void on_busy(const deployments::Deployment& row, const kube::ApiError& error);
  // Says that the sub-domain's own certificate is missing, if nothing else is wrong.
  void add_certificate(Seen& seen, const Wanted& wanted, const std::vector<Object>& desired,
                       const std::optional<Trouble>& held_back);
  Outcome orphan(const std::string& id);

  bool is_held_by_another(const deployments::Deployment& row);
  int remove_unwanted(const std::string& id, const std::vector<Object>& desired);
  bool is_too_early(const std::string& id, const std::vector<Object>& desired);
  Live look(const std::string& id);
  // Writes the observation to the row, and to the meter what has run. Returns false if the row
  // already says the same, or if its generation has changed in the meantime.
  bool record(const deployments::Deployment& row, const deployments::Observation& seen);
  // Tells the meter what has run, if no observation was stored with it.
  void record_runs(const std::string& id);

  const Parts parts_;
  Applier applier_;
  Secrets secrets_;
  Tenancy tenancy_;
  Removal removal_;
  SubdomainCertificates certificates_;
  KeyedMutex names_;

  mutable std::mutex mutex_;
  std::map<std::string, std::set<std::string>> waiting_for_namespace_;  // by app
  std::set<std::string> orphans_;
  // Since when containers have waited for the size of this generation, by deployment.
  struct ResizingSince {
    std::int64_t generation = 0;
    std::chrono::steady_clock::time_point at;
  };
  std::map<std::string, ResizingSince> resizing_since_;
  // Since when the API server has failed to take a deployment's objects, by deployment.
  std::map<std::string, std::chrono::steady_clock::time_point> failing_since_;
};

}  // namespace berth::reconcilers
