#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "reconcilers/cluster/custom_domain_workers.h"
#include "reconcilers/cluster/deployment.h"
#include "reconcilers/cluster/leader.h"
#include "reconcilers/cluster/metrics.h"
#include "reconcilers/cluster/pod_health.h"
#include "reconcilers/cluster/usage.h"

namespace berth::reconcilers {

// Everything that runs to bring deployments to one cluster: a client, a cache, a queue, workers.
// For the composition root: make it, hand the database's notices to enqueue(), start() and stop()
// it.
class Engine {
 public:
  struct Parts {
    db::Database& database;
    kube::Kubeconfig cluster;
    kube::ClientOptions client;  // its observer is called besides our own metrics
    manifests::Settings settings;
    std::string data_key;
    std::shared_ptr<prometheus::Registry> registry;
    // Where the Lease of this instance is kept: of all engines on it only the one that holds it
    // writes to the cluster. Nothing: there is no other engine.
    std::optional<std::string> lease_namespace;
  };
  struct Options {
    // A reconcile waits for the network most of its time; the API server's fair queueing is kind to
    // this many.
    int workers = 8;
    // Level-based loops need no resync; it heals what a bug or a lost notice left behind.
    std::chrono::milliseconds resync = std::chrono::minutes(10);
    Patience patience;
    dns::Options dns;  // who is asked about custom domains
    Leader::Options leader;
    // Traefik's own metrics page, for the requests of deployments; empty: they aren't known.
    std::string traefik_metrics_url = {};
  };

  explicit Engine(Parts parts) : Engine(std::move(parts), Options()) {}
  Engine(Parts parts, Options options);
  ~Engine();  // stops
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Returns at once, whether or not the cluster answers: everything that has objects is looked at
  // as soon as the cache is complete.
  void start();
  // No key is taken any more; returns when the reconciles that run have ended, which takes as long
  // as their requests, at most, and when the Lease is given back. What was left undone is found by
  // the scan of the next start.
  void stop();

  // A deployment's row changed. Never blocks; from any thread; also before start().
  void enqueue(const std::string& deployment_id) { queue_.add(deployment_id); }

  // The same for its custom domain.
  void enqueue_domain(const std::string& deployment_id) { domains_.enqueue(deployment_id); }

  ClusterState cluster_state() const { return cache_.state(); }
  // Nothing where there is no election.
  std::optional<Leader::State> leadership() const;
  // Ids of deployments that have objects here and no row. Only a command removes them.
  std::set<std::string> orphans() const { return loop_.orphans(); }
  // What the readiness probe says, as the pods' informer has it. Quick; from any thread.
  std::optional<Health> health(const std::string& deployment_id) const;
  // Asks the cluster and Traefik: some seconds at most. From any thread.
  Usage usage(const deployments::Deployment& deployment) { return usage_.of(deployment); }
  // Whether nothing waits and nobody works; for tests and for a berthd that was told to finish.
  bool is_idle() const {
    return queue_.depth() == 0 && queue_.unfinished().count() == 0 && domains_.is_idle();
  }

  kube::Client& client() { return client_; }
  const Cache& cache() const { return cache_; }

 private:
  void notice(const std::string& id, const Object& object);
  void work();
  void handle(const std::string& id);
  bool leads() const { return !leader_ || leader_->write_time(); }
  void begin_to_lead();
  void stall_until_leading(const std::string& id);
  Outcome stand_by(const std::string& id, DeploymentLoop::Subject& subject);
  std::string_view settle(const std::string& id, const Outcome& outcome);
  void retry(const std::string& id, std::optional<std::chrono::seconds> wait);
  void stall(const std::string& id);
  void wake_stalled();
  void keep(const std::stop_token& stop);
  bool scan();

  const Options options_;
  db::Database& database_;
  const manifests::Settings settings_;
  const std::string data_key_;
  Metrics metrics_;
  WorkQueue queue_;
  const std::unique_ptr<Leader> leader_;  // null: no election
  kube::Client client_;
  Cache cache_;
  KeyedMutex deployments_;
  UsageReader usage_;
  DeploymentLoop loop_;
  dns::Resolver resolver_;
  DomainLoop domain_loop_;
  DomainWorkers domains_;

  std::mutex mutex_;
  std::condition_variable_any keeper_wakes_;
  bool something_connected_ = false;
  std::set<std::string> stalled_;  // failed since nobody answered, or wait until we lead
  std::atomic<bool> scan_again_ = false;

  std::vector<std::thread> workers_;
  std::jthread keeper_;
};

}  // namespace berth::reconcilers
