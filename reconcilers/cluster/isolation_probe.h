#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/fields.h"
#include "reconcilers/cluster/isolation_paths.h"
#include "reconcilers/kube/client.h"

namespace berth::reconcilers {

// Tries from containers like tenants' what tenants must not reach: the leader makes two namespaces
// of the tenants' templates, with the confinement of the tier that strangers get, and in each of
// them a pod that listens and one that tries all paths (isolation_paths.h) and writes the answers
// into its log. Nobody but the cluster's admins can write there. When it is over, whatever became
// of it, the namespaces are deleted; those that a killed berthd has left are deleted by the next
// leader.
//
// The objects have the label berth/instance=<instance>-isolation, so that nothing else in berth
// takes them for a tenant's. Their names are new for each run.
//
// run_once() belongs to one thread; all else may be called from any thread.
class IsolationProbe {
 public:
  struct Limits {
    std::chrono::milliseconds starting = std::chrono::minutes(2);  // for the pods to start
    std::chrono::milliseconds answering = std::chrono::minutes(2);
    // How long an API server may take to act on a new RoleBinding.
    std::chrono::milliseconds rights = std::chrono::seconds(30);
    std::chrono::milliseconds look_again = std::chrono::seconds(1);
  };
  struct Parts {
    db::Database& database;
    kube::Client& client;  // a client with which only the leader may write
    const Clock& clock;
    manifests::Settings settings;  // the settings of the tenants' objects
    isolation::Mode mode = isolation::Mode::warn;
    // Returns the name of an image whose entry point is berthd; if it is empty, nothing can be
    // probed. Called for each run; may take seconds, and throw what is the run's problem then.
    std::function<std::string()> image;
    // What berthd knows of the surroundings; the probe adds the nodes and kube-system.
    std::function<ProbeSurroundings()> surroundings;
    std::function<bool()> leads;
    std::function<bool()> stopping;
    // Called after each run, if something new is known.
    std::function<void()> changed;
    // Reads the log of a pod; Client::logs if it is empty.
    std::function<std::string(const std::string& name_space, const std::string& pod)> read_log = {};
    Limits limits = {};
  };
  explicit IsolationProbe(Parts parts);

  // How often run_once() should be called.
  static constexpr std::chrono::seconds interval{2};
  // When the next run is due: after one that came to a report, and after one that didn't, which
  // doubles with each further one up to longest_after_problem.
  static constexpr Duration after_report = std::chrono::hours(24);
  static constexpr Duration after_problem = std::chrono::minutes(10);
  static constexpr Duration longest_after_problem = std::chrono::hours(6);

  // A process that begins to lead runs the probe unless the newest report is younger than this, so
  // that a process that restarts often doesn't probe each time.
  static constexpr Duration fresh = std::chrono::hours(1);

  // Runs the probe if that is due: when this process has begun to lead, daily, and if it was asked
  // for. Otherwise returns at once. Never throws.
  void run_once();
  // Asks for a run as soon as possible. If one is under way, nothing is added to it.
  void ask();
  // Whether a run is under way or was asked for.
  bool is_busy() const { return asked_ || running_; }

 private:
  struct Tenant {
    std::string who;  // for people
    std::string app_id;
    ProbeTenant listening = {};
    std::vector<isolation::Path> paths = {};
    std::string prober = {};  // the id of the deployment that tries them
  };
  using SteadyClock = std::chrono::steady_clock;

  void do_what_is_due();
  void begin_to_lead();
  void run();
  void came_to_nothing(const std::string& problem);
  isolation::Report probe();
  void make_namespace(const Tenant& tenant);
  // Returns the id of the new deployment, whose Service gets `service` as its address.
  std::string make_deployment(const Tenant& tenant, const std::string& name,
                              const std::vector<std::string>& arguments, std::string* service);
  Object apply(const Object& object);
  std::vector<Object> objects_of(const kube::Resource& resource, const Tenant& tenant,
                                 const std::string& deployment);
  std::string trouble_with(const Tenant& tenant, const std::string& deployment);
  Object ready_pod(const Tenant& tenant, const std::string& deployment);
  ProbeAnswers answers_of(const Tenant& tenant, const std::string& nonce);
  void add_system(ProbeSurroundings& around);
  // Waits a moment. Throws if berthd is to stop.
  void pause() const;
  bool remove_namespaces();

  const Parts parts_;
  const manifests::Settings settings_;  // the tenants' settings, with the probe's own instance
  tiers::Confinement confinement_;
  std::string image_;    // of the present run
  std::string problem_;  // why the newest attempt failed
  bool led_ = false;
  bool is_clean_ = false;  // nothing of an earlier run is left
  std::optional<Instant> due_at_;
  Duration again_after_ = after_problem;
  SteadyClock::time_point clean_again_at_{};
  std::atomic<bool> asked_ = false;
  std::atomic<bool> running_ = false;
};

// Reads the answers from the log of a container: the last line that has the nonce. Nothing if there
// is none, or it isn't what probe containers write.
std::optional<ProbeAnswers> read_answers(const std::string& log, const std::string& nonce);

}  // namespace berth::reconcilers
