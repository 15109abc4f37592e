#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "controller/db/sqlite/database.h"
#include "reconcilers/cluster/engine.h"
#include "tests/temp_dir.h"

// A database, a cluster and an engine between them. Everything is real, except for the cluster's
// nodes.
namespace berth::reconcilers::test {

struct Wanted {
  std::string name = "shop";
  std::string image = "ghcr.io/acme/web:1";
  std::string tier = "small";
  std::string health_path = {};
  int port = 3000;
  std::map<std::string, std::string> env = {{"COLOR", "blue"}};
  std::optional<deployments::RegistryCredentials> registry_credentials = {};
  int replicas = 1;
  deployments::Processes processes = {};
  deployments::Texts release_command = {};
};

class World {
 public:
  // An empty `instance` makes a new one, so that several worlds can share a cluster.
  explicit World(kube::Kubeconfig cluster, std::string instance = "");
  ~World();

  void wake();   // starts an engine on the database
  void sleep();  // stops the engine

  std::string new_app();
  std::string deploy(const std::string& app, const Wanted& wanted = {});
  // Makes a tier that costs so many points an hour, and gives an app points.
  void new_tier(const std::string& slug, std::int64_t points_per_hour);
  void give(const std::string& app, std::int64_t points);
  void stop(const std::string& id);
  void restart(const std::string& id);
  // Without a value, the deployment no longer has the variable.
  void set(const std::string& id, const std::string& variable,
           const std::optional<std::string>& value);
  void unset(const std::string& id, const std::string& variable) {
    set(id, variable, std::nullopt);
  }
  // Changes the confinement of the tier that all deployments have.
  void confine(const tiers::Confinement& confinement);
  void destroy(const std::string& id);
  // Changes the row in a way that the domain has no function for.
  void change(const std::string& id, const std::string& assignments);

  // Removes the row, as if the database came from a backup that is older than the deployment.
  void forget(const std::string& id);

  // back_up() copies the database as it is now, and restore() returns to that copy. The engine must
  // be stopped for restore().
  void back_up();
  void restore();

  deployments::Deployment row(const std::string& id);
  bool is(const std::string& id, deployments::Status status);
  bool is_removed(const std::string& id);
  // Waits until no key has been in the queue for a moment. Returns whether that happens.
  bool settles();

  prometheus::Registry& registry() { return *registry_; }
  Engine& engine() { return *engine_; }
  db::Database& database() { return *database_; }
  kube::Client& client() { return client_; }  // belongs to the test; its calls aren't counted
  manifests::Settings& settings() { return settings_; }  // to be changed before wake()
  Clock& clock() { return clock_; }
  int writes() const { return writes_; }  // number of the engines' writes to the API server

  // Returns the objects of the kind with this instance's label and, if `deployment` is given, with
  // that deployment's.
  std::vector<Object> objects(const kube::Resource& resource, const std::string& deployment = "");
  Object object(const kube::Resource& resource, const std::string& deployment);
  Engine::Options options;
  deployments::Rules rules = {
      .registries = {"ghcr.io"}, .apps_domain = "apps.example", .base_host = "berth.example"};
  std::optional<std::string> lease_namespace;  // empty if there is no leader election
  std::function<std::string()> why_new_ones_wait = {};

 private:
  void act(const std::function<void(db::Tx&)>& work);
  std::filesystem::path file() const;
  void listen();
  void remove_namespaces();

  const berth::test::TempDir folder_;
  Clock clock_;
  kube::Kubeconfig cluster_;
  kube::Client client_;
  const bool shared_;  // whether another world uses the same instance
  manifests::Settings settings_;
  std::unique_ptr<db::sqlite::Database> database_;
  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  std::atomic<int> writes_ = 0;
  std::atomic<int> apps_ = 0;
  std::mutex mutex_;
  std::unique_ptr<Engine> engine_;
};

// Waits until `condition` is true, for a time that is generous even on a loaded machine.
bool eventually(const std::function<bool()>& condition,
                std::chrono::seconds limit = std::chrono::seconds(60));

}  // namespace berth::reconcilers::test
