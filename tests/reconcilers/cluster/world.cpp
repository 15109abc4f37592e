#include "tests/reconcilers/cluster/world.h"

#include <iostream>

#include "controller/base/crypto.h"
#include "controller/base/id.h"
#include "controller/db/sqlite/copy.h"
#include "controller/db/sqlite/database.h"
#include "controller/domain/ledger/ledger.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/store.h"

namespace berth::reconcilers::test {
namespace {

const std::string data_key(32, 'k');
bool is_write(std::string_view verb) {
  return verb == "apply" || verb == "create" || verb == "merge" || verb == "update" ||
         verb == "delete";
}

tiers::Tier test_tier(const std::string& slug) {
  tiers::Tier tier;
  tier.name = tier.slug = slug;
  tier.monthly_cost_points = 0;
  tier.memory_limit_mb = 128;
  tier.cpu_limit_millicores = 100;
  tier.auto_approve = true;
  tier.max_replicas = 10;
  return tier;
}

std::unique_ptr<db::sqlite::Database> new_database(const std::filesystem::path& file,
                                                   const Clock& clock) {
  berth::test::provide_sqlite_file(file);
  return std::make_unique<db::sqlite::Database>(file, clock);
}

}  // namespace

World::World(kube::Kubeconfig cluster, std::string instance)
    : cluster_(std::move(cluster)),
      client_(cluster_),
      shared_(!instance.empty()),
      settings_{.instance = instance.empty() ? "test-" + hex(random_bytes(6)) : std::move(instance),
                .apps_domain = rules.apps_domain,
                .ingress_class = "traefik",
                .wildcard_tls_secret = {},
                .token_audience = "https://berth.example"},
      database_(new_database(file(), clock_)) {
  // Kubernetes' times are whole seconds, so that one second may be over at once.
  options.patience = {.scheduling = std::chrono::seconds(2),
                      .listening = std::chrono::seconds(2),
                      .after_crash = std::chrono::seconds(2),
                      .creating = std::chrono::seconds(2)};
  listen();
  act([](db::Tx& tx) { tiers::seed(tx, {test_tier("small")}); });
}

World::~World() {
  sleep();
  if (!shared_ && TestCluster::is_real()) remove_namespaces();
}

// A node has room for a limited number of pods, and the cluster is used after the test.
void World::remove_namespaces() {
  try {
    for (const Object& space : objects(kube::namespaces))
      client_.remove(kube::namespaces, "", name_of(space));
  } catch (const kube::ApiError& failure) {
    std::cerr << "namespaces of " << settings_.instance << " are left: " << failure.what() << "\n";
  }
}

std::filesystem::path World::file() const { return folder_ / "berth.db"; }

void World::listen() {
  database_->subscribe([this](db::Topic topic, const std::string& id) {
    const std::lock_guard lock(mutex_);
    if (!engine_) return;
    if (topic == db::Topic::custom_domain)
      engine_->enqueue_domain(id);
    else if (topic == db::Topic::run)
      engine_->enqueue_run(id);
    else
      engine_->enqueue(id);
  });
}

void World::back_up() {
  db::sqlite::copy(file(), folder_ / "backup.db", [] { return true; });
}

void World::restore() {
  database_.reset();
  std::filesystem::rename(folder_ / "backup.db", file());
  database_ = std::make_unique<db::sqlite::Database>(file(), clock_);
  listen();
}

void World::wake() {
  kube::ClientOptions client;
  client.request_timeout = std::chrono::seconds(2);
  client.observer = [this](std::string_view verb, std::string_view, int, std::chrono::nanoseconds) {
    if (is_write(verb)) ++writes_;
  };
  auto engine = std::make_unique<Engine>(Engine::Parts{.database = *database_,
                                                       .cluster = cluster_,
                                                       .client = client,
                                                       .settings = settings_,
                                                       .data_key = data_key,
                                                       .registry = registry_,
                                                       .lease_namespace = lease_namespace,
                                                       .why_new_ones_wait = why_new_ones_wait},
                                         options);
  engine->start();
  const std::lock_guard lock(mutex_);
  engine_ = std::move(engine);
}

void World::sleep() {
  std::unique_ptr<Engine> ending;
  {
    const std::lock_guard lock(mutex_);
    ending = std::move(engine_);
  }
}

std::string World::new_app() {
  const std::string id = new_uuid(clock_.now());
  const int number = ++apps_;
  act([&](db::Tx& tx) {
    tx.execute(
        "INSERT INTO users (id, email, email_key, username, username_key, password_hash, "
        "referral_code, "
        "registration_number, signup_multiplier, created_at, updated_at) "
        "VALUES ($1, $1, $1, $1, $1, '', $1, $2, 1, $3, $3)",
        id, number, tx.now());
    tx.execute(
        "INSERT INTO apps (id, owner_id, app_name, client_id, client_secret_hash, redirect_uris, "
        "allowed_scopes, "
        "approved_scopes, inserted_at, updated_at) VALUES ($1, $1, $1, $1, '', '[]', '', '', $2, "
        "$2)",
        id, tx.now());
  });
  return id;
}

std::string World::deploy(const std::string& app, const Wanted& wanted) {
  deployments::Order order;
  order.name = wanted.name;
  order.container.image = wanted.image;
  order.tier = wanted.tier;
  order.container.health_path = wanted.health_path;
  order.container.port = wanted.port;
  order.container.release_command = wanted.release_command;
  order.container.replicas = wanted.replicas;
  order.container.processes = wanted.processes;
  order.secrets.env = wanted.env;
  order.secrets.registry_credentials = wanted.registry_credentials;
  std::string id;
  act([&](db::Tx& tx) {
    id = deployments::create(tx, {app, app, "request-1"}, order, rules, data_key).id;
  });
  return id;
}

void World::new_tier(const std::string& slug, std::int64_t points_per_hour) {
  tiers::Tier tier = test_tier(slug);
  tier.points_per_hour = points_per_hour;
  act([&](db::Tx& tx) { tiers::create(tx, tier); });
}

void World::give(const std::string& app, std::int64_t points) {
  act([&](db::Tx& tx) { ledger::mint(tx, ledger::app_account(app), points, "test"); });
}

void World::stop(const std::string& id) {
  const std::string app = row(id).app_id;
  act([&](db::Tx& tx) { deployments::stop(tx, {app, app, "request-2"}, id); });
}

void World::confine(const tiers::Confinement& confinement) {
  act([&](db::Tx& tx) {
    tiers::Tier tier = tiers::list(tx).at(0);
    tier.confinement = confinement;
    tiers::update(tx, tier);
  });
}

void World::restart(const std::string& id) {
  const std::string app = row(id).app_id;
  act([&](db::Tx& tx) { deployments::restart(tx, {app, app, "request-3"}, id); });
}

void World::set(const std::string& id, const std::string& variable,
                const std::optional<std::string>& value) {
  const std::string app = row(id).app_id;
  deployments::Change change;
  change.env[variable] = value;
  act([&](db::Tx& tx) {
    deployments::change(tx, {app, app, "request-5"}, id, change, rules, data_key);
  });
}

void World::destroy(const std::string& id) {
  const std::string app = row(id).app_id;
  act([&](db::Tx& tx) { deployments::destroy(tx, {app, app, "request-4"}, id); });
}

void World::change(const std::string& id, const std::string& assignments) {
  const std::string sql = "UPDATE deployments SET " + assignments +
                          ", generation = generation + 1, status = 'deploying' WHERE id = $1";
  act([&](db::Tx& tx) {
    tx.execute(sql, id);
    tx.notify(db::Topic::deployment, id);
  });
}

void World::forget(const std::string& id) {
  act([&](db::Tx& tx) {
    tx.execute("DELETE FROM deploy_logs WHERE deployment_id = $1", id);
    tx.execute("DELETE FROM deployment_billing WHERE deployment_id = $1", id);
    tx.execute("DELETE FROM deployments WHERE id = $1", id);
  });
}

deployments::Deployment World::row(const std::string& id) {
  return database_->read([&](db::Tx& tx) { return deployments::find(tx, id).value(); });
}

bool World::is(const std::string& id, deployments::Status status) {
  return eventually([&] { return row(id).status == status; });
}

bool World::is_removed(const std::string& id) {
  return eventually([&] { return row(id).removed_at.has_value(); });
}

bool World::settles() {
  using SteadyClock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds quiet{300};
  auto busy_at = SteadyClock::now();
  return eventually([&] {
    if (!engine_->cluster_state().synced || !engine_->is_idle()) busy_at = SteadyClock::now();
    return SteadyClock::now() - busy_at > quiet;
  });
}

std::vector<Object> World::objects(const kube::Resource& resource, const std::string& deployment) {
  std::string selector = manifests::selector(settings_);
  if (!deployment.empty())
    selector += std::string(",") + manifests::deployment_label + "=" + deployment;
  return client_
      .list(resource, {.name_space = "", .label_selector = selector, .field_selector = ""})
      .items;
}

Object World::object(const kube::Resource& resource, const std::string& deployment) {
  const auto found = objects(resource, deployment);
  return found.empty() ? Object() : found.front();
}

void World::act(const std::function<void(db::Tx&)>& work) { database_->write(work); }

bool eventually(const std::function<bool()>& condition, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace berth::reconcilers::test
