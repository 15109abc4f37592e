#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "reconcilers/cluster/custom_domain.h"
#include "reconcilers/cluster/deployment.h"
#include "reconcilers/cluster/image_check.h"
#include "reconcilers/cluster/job_loop.h"
#include "reconcilers/cluster/leader.h"
#include "reconcilers/cluster/loop_workers.h"
#include "reconcilers/cluster/metrics.h"
#include "reconcilers/cluster/pod_health.h"
#include "reconcilers/cluster/run_recorder.h"
#include "reconcilers/cluster/usage.h"
#include "reconcilers/cluster/user_namespaces.h"

namespace berth::reconcilers {

// Runs everything that brings deployments, their runs and custom domains to one cluster: the
// Kubernetes client, the cache, the work queues and their workers. The composition root creates an
// Engine, passes the database's change notices to enqueue(), enqueue_domain() and enqueue_run(),
// and calls start() and stop().
class Engine {
 public:
  struct Parts {
    db::Database& database;
    kube::Kubeconfig cluster;
    kube::ClientOptions client;  // its observer is called in addition to the engine's metrics
    manifests::Settings settings;
    std::string data_key;
    std::shared_ptr<prometheus::Registry> registry;
    // The namespace that holds this instance's Lease. Of all engines of the instance, only the
    // holder of the Lease writes to the cluster. If this is empty, there is no leader election and
    // the engine always writes.
    std::optional<std::string> lease_namespace;
    // Called for deployments that aren't on the cluster yet: returns why they have to wait; empty
    // if they needn't. May be empty itself.
    std::function<std::string()> why_new_ones_wait = {};
  };
  struct Options {
    // A reconcile spends most of its time waiting for the network. The API server's priority and
    // fairness queueing handles this many concurrent clients easily.
    int workers = 8;
    // The loops are level-based and need no resync; a resync repairs what a bug or a lost
    // notification left behind.
    std::chrono::milliseconds resync = std::chrono::minutes(10);
    Patience patience;
    dns::Options dns;  // the name servers that are asked about custom domains
    Leader::Options leader;
    // The URL of Traefik's metrics page, which counts the requests of deployments. If this is
    // empty, request counts are unknown.
    RequestCounts requests = {};
    ImageCheck::Limits images = {};
    // Whether pods can have user namespaces. If it isn't set, the nodes are asked.
    std::optional<bool> user_namespaces = {};
  };

  explicit Engine(Parts parts) : Engine(std::move(parts), Options()) {}
  Engine(Parts parts, Options options);
  ~Engine();  // calls stop()
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Returns at once, whether or not the cluster answers. Every deployment that has a row or objects
  // is reconciled as soon as the cache is complete.
  void start();
  // Hands out no more work, waits for the reconciles that are running (at most as long as their
  // requests take), and gives the Lease back. The scan at the next start finds whatever was left
  // undone.
  void stop();

  // Queues a deployment whose row has changed. Never blocks, may be called from any thread, and
  // also before start().
  void enqueue(const std::string& deployment_id) { queue_.add(deployment_id); }

  // Queues a deployment whose custom domain has changed; the same promises as enqueue().
  void enqueue_domain(const std::string& deployment_id) { domains_.enqueue(deployment_id); }

  // Queues a run that was asked for or cancelled; the same promises as enqueue().
  void enqueue_run(const std::string& run_id) { jobs_.enqueue(run_id); }

  // Looks at all deployments again soon, because something has changed for many of them. May be
  // called from any thread.
  void look_at_all();

  ClusterState cluster_state() const { return cache_.state(); }
  // Who leads. Empty if there is no leader election.
  std::optional<Leader::State> leadership() const;
  // Whether this process leads, or there is no leader election.
  bool is_leading() const;
  // The ids of deployments that have objects on the cluster but no row in the database. berth never
  // removes such objects by itself; only an administrator's command does.
  std::set<std::string> orphans() const { return loop_.orphans(); }
  // What the readiness probe last reported, from the pods' informer. Answers from memory; may be
  // called from any thread.
  std::optional<Health> health(const std::string& deployment_id) const;
  // Asks the cluster's metrics API and Traefik, which takes a few seconds at most. May be called
  // from any thread.
  Usage usage(const deployments::Deployment& deployment) { return usage_.of(deployment); }
  // The reconciles of deployments that wait or run.
  struct Work {
    size_t waiting = 0;
    size_t stalled = 0;  // wait until the cluster can be reached, or this process leads
    std::chrono::duration<double> longest{0};  // how long the oldest of those that run has run
    std::int64_t errors = 0;                   // how many have failed since the start
  };
  Work work_now();
  // Whether no work is queued or running. Used by tests and by a berthd that is to exit when
  // finished.
  bool is_idle() const {
    return queue_.depth() == 0 && queue_.unfinished().count() == 0 && domains_.is_idle() &&
           jobs_.is_idle();
  }

  kube::Client& client() { return client_; }
  const Cache& cache() const { return cache_; }

 private:
  void notice(const std::string& id, const Object& object);
  // Whether pods can have a user namespace where their tier leaves that open.
  bool has_user_namespaces() const;
  void handle(const std::string& id);
  bool leads() const { return !leader_ || leader_->write_time(); }
  void begin_to_lead();
  void stall_until_leading(const std::string& id);
  Outcome stand_by(const std::string& id, DeploymentLoop::Subject& subject);
  std::string_view settle(const std::string& id, const Outcome& outcome);
  void stall(const std::string& id);
  void wake_stalled();
  void keep(const std::stop_token& stop);
  void keep_watch();
  void look_at_runs(const std::vector<std::string>& open);
  bool scan();
  void scan_runs();

  const Options options_;
  db::Database& database_;
  const manifests::Settings settings_;
  const std::string data_key_;
  Metrics metrics_;
  WorkQueue queue_;
  const std::unique_ptr<Leader> leader_;  // null if there is no leader election
  kube::Client client_;
  Cache cache_;
  RunRecorder runs_;
  KeyedMutex deployments_;
  UsageReader usage_;
  ImageCheck images_;
  UserNamespaceWatch user_namespaces_;
  DeploymentLoop loop_;
  dns::Resolver resolver_;
  DomainLoop domain_loop_;
  LoopWorkers<DomainLoop> domains_;
  JobLoop job_loop_;
  LoopWorkers<JobLoop> jobs_;

  std::mutex mutex_;
  std::condition_variable_any keeper_wakes_;
  bool something_connected_ = false;
  // Failed because the cluster was unreachable, or wait for this process to lead.
  std::set<std::string> stalled_;
  std::atomic<bool> scan_again_ = false;
  std::atomic<bool> has_looked_at_runs_ = false;  // since this process leads

  std::jthread keeper_;
};

}  // namespace berth::reconcilers
