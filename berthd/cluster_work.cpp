#include "berthd/cluster_work.h"

#include "berthd/cluster_access.h"
#include "berthd/embedded_exec.h"
#include "berthd/exit_codes.h"
#include "controller/base/ascii.h"
#include "controller/base/error.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/instances.h"

namespace berth {
namespace {

std::unique_ptr<embedded::Cluster> simulated_cluster(const Config& config) {
  if (config.kubernetes != Cluster::simulated) return nullptr;
  embedded::Options options;
  options.timing = embedded::Timing().sped_up(config.simulated_speed);
  options.remembers = false;
  return std::make_unique<embedded::Cluster>(options);
}

std::unique_ptr<LocalMachine> local_machine(const Config& config, Storage& storage) {
  if (config.kubernetes != Cluster::local) return nullptr;
  return std::make_unique<LocalMachine>(config, storage);
}

kube::Kubeconfig access_to(const Config& config, LocalMachine* machine,
                           const embedded::Cluster* simulated) {
  kube::Kubeconfig access;
  if (machine != nullptr) {
    access.server = machine->cluster().url();
    access.token = machine->token();
    return access;
  }
  if (simulated == nullptr) return cluster_access(config);
  access.server = simulated->url();
  return access;
}

// Returns nothing for a cluster within the process, which no other process can use, so that there
// is no leader to elect.
std::optional<std::string> lease_namespace(const Config& config) {
  if (config.kubernetes == Cluster::simulated || config.kubernetes == Cluster::local)
    return std::nullopt;
  if (config.lease_namespace) return config.lease_namespace;
  if (config.kubernetes == Cluster::kubeconfig) return "default";
  return or_end_with(exit_cluster_access, "kubernetes",
                     [] { return kube::in_cluster_namespace(); });
}

std::optional<manifests::TenantRole> tenant_role(const Config& config) {
  if (!config.tenant_role) return std::nullopt;
  const std::string& account = config.service_account.value();
  const size_t slash = account.find('/');
  return manifests::TenantRole{.role = *config.tenant_role,
                               .account_namespace = account.substr(0, slash),
                               .account = account.substr(slash + 1)};
}

// Caddy takes the place of cert-manager on a machine that serves https.
std::optional<std::string> issuer(const Config& config) {
  if (config.kubernetes != Cluster::local) return config.cluster_issuer;
  return ingress_https_address(config) ? std::optional<std::string>("caddy") : std::nullopt;
}

manifests::Settings manifest_settings(const Config& config, const std::string& instance) {
  return {.instance = instance,
          .apps_domain = config.apps_domain,
          .ingress_class = config.ingress_class,
          .wildcard_tls_secret = config.wildcard_tls_secret,
          .cluster_issuer = issuer(config),
          .ingress_controller = {.name_space = config.ingress_namespace,
                                 .ranges = config.ingress_ranges,
                                 .ports = config.ingress_ports},
          .cluster_ranges = config.cluster_ranges,
          .node_selector = config.tenant_node_selector,
          .tolerations = config.tenant_tolerations,
          .priority_class = config.tenant_priority_class,
          // In development there may be no URL before the ports are known.
          .token_audience = config.base_url.value_or("berth:" + instance),
          .tenant_role = tenant_role(config)};
}

// Only a real cluster needs an account for sessions in containers.
std::unique_ptr<reconcilers::KubeExec> kube_exec(const Config& config,
                                                 const kube::Kubeconfig& access) {
  const bool is_real =
      config.kubernetes != Cluster::simulated && config.kubernetes != Cluster::local;
  if (!is_real || !config.exec_service_account) return nullptr;
  return std::make_unique<reconcilers::KubeExec>(access, *config.exec_service_account);
}

std::string words_of(const reconcilers::Leader::State& leadership) {
  if (leadership.leading) return "this process";
  if (!leadership.last_error.empty()) return leadership.last_error;
  return leadership.holder.empty() ? "nobody" : "standby for " + leadership.holder;
}

}  // namespace

ClusterWork::ClusterWork(Parts parts)
    : parts_(std::move(parts)),
      machine_(local_machine(parts_.config, parts_.storage)),
      simulated_(simulated_cluster(parts_.config)),
      access_(access_to(parts_.config, machine_.get(), simulated_.get())),
      settings_(manifest_settings(parts_.config, parts_.storage.instance)),
      engine_({.database = parts_.storage.database,
               .cluster = access_,
               .client = {},
               .settings = settings_,
               .data_key = parts_.storage.keys.data,
               .registry = parts_.registry,
               .lease_namespace = lease_namespace(parts_.config),
               .why_new_ones_wait = [this] { return isolation_.why_new_ones_wait(); }},
              {.workers = parts_.config.reconcile_workers,
               .patience = {},
               .dns = {.servers = parts_.config.dns_servers},
               .leader = {},
               .requests = counts(),
               .images = {.max_bytes = simulated_ ? 0 : parts_.config.max_image_bytes,
                          .unknown = parts_.config.unknown_image_size},
               // podman makes one for each container, on any kernel and whatever the pod asks for.
               .user_namespaces = machine_ ? std::optional(true) : std::nullopt}),
      usage_history_(parts_.storage.data.path() / usage_history_name),
      usage_sampler_({.cache = engine_.cache(),
                      .history = usage_history_,
                      .clock = parts_.storage.clock,
                      .cluster = access_,
                      .label_selector = manifests::selector(settings_),
                      .requests = counts()}),
      autoscaler_({.load = load(), .registry = parts_.registry},
                  {.quiet_time = parts_.config.scale_down_after}),
      isolation_({.config = parts_.config,
                  .database = parts_.storage.database,
                  .clock = parts_.storage.clock,
                  .engine = engine_,
                  .settings = settings_,
                  .server = access_.server,
                  .image = [this] { return isolation_image(); },
                  .listeners = parts_.listeners,
                  .wake = [this] { parts_.wake(IsolationWatch::name); }}),
      container_logs_(engine_.client(), engine_.cache()),
      container_tokens_(reconcilers::ask_cluster(access_, settings_.token_audience)),
      exec_(kube_exec(parts_.config, access_)),
      builds_(build_work(parts_.config, parts_.storage,
                         [this] { parts_.wake(reconcilers::BuildLoop::name); })) {}

void ClusterWork::add_to(reconcilers::Loops& loops) {
  loops.add(reconcilers::Loops::Part{.start = [this] { engine_.start(); },
                                     .stop = [this] { engine_.stop(); }});
  if (machine_)
    loops.add(reconcilers::Loops::Part{.start = [this] { machine_->serve(); },
                                       .stop = [this] { machine_->stop_serving(); }});
  loops.add(usage_sampler_.loop());
  loops.add(autoscaler_.loop());
  if (!simulated_) loops.add(isolation_.loop());
  if (builds_) builds_->add_to(loops);
}

api::ClusterView ClusterWork::view() {
  return {
      .url_of = [this](const std::string& host) { return url_of(host); },
      .state = [this] { return state(); },
      .orphans =
          [this] {
            const auto ids = engine_.orphans();
            return std::vector<std::string>(ids.begin(), ids.end());
          },
      .health_of = [this](const std::string& id) -> std::optional<api::Health> {
        const auto health = engine_.health(id);
        if (!health) return std::nullopt;
        return api::Health{.ready = health->ready, .age = health->age};
      },
      .instances_of =
          [this](const std::string& id) { return reconcilers::instances_of(engine_.cache(), id); },
      .usage_of =
          [this](const deployments::Deployment& row) {
            const reconcilers::Usage usage = engine_.usage(row);
            return api::Usage{.cpu_millicores = usage.cpu_millicores,
                              .memory_bytes = usage.memory_bytes,
                              .restarts = usage.restarts,
                              .requests = usage.requests,
                              .in_flight = autoscaler_.in_flight(row.id)};
          },
      .usage_history = [this](const auto& wanted) { return usage_history_.read(wanted); },
      .fleet = [this] { return fleet(); },
      .isolation = [this] { return isolation_.now(); },
      .probe_isolation = [this] { return isolation_.ask(); },
      .container_logs =
          [this](const container_logs::Wanted& wanted) { return container_logs_.open(wanted); },
      .open_session = [this](const exec::Wanted& wanted) { return open_session(wanted); },
      .identity_in =
          [](std::string_view token) { return reconcilers::ContainerTokens::read(token); },
      .proves_identity =
          [this](const std::string& token) { return container_tokens_.prove(token); },
      .has_issuer = settings_.cluster_issuer.has_value(),
      .builds = builds_ ? builds_->view() : nullptr,
      .findings = [this] { return machine_ ? machine_->findings() : std::vector<std::string>(); }};
}

void ClusterWork::changed(db::Topic topic, const std::string& id) {
  if (topic == db::Topic::custom_domain) engine_.enqueue_domain(id);
  if (topic == db::Topic::deployment) engine_.enqueue(id);
  if (topic == db::Topic::run) engine_.enqueue_run(id);
  if (topic == db::Topic::build && builds_) parts_.wake(reconcilers::BuildLoop::name);
}

bool ClusterWork::answer_page(const api::Request& request, api::Response& response) const {
  if (!simulated_) return false;
  const std::string host = lower_case(request.host.substr(0, request.host.rfind(':')));
  if (!host.ends_with("." + parts_.config.apps_domain)) return false;
  const embedded::Page page = simulated_->page(host);
  response.status = page.status;
  response.content_type = "text/html; charset=utf-8";
  response.body = page.html;
  response.add_header("Cache-Control", "no-store");
  return true;
}

api::KubernetesState ClusterWork::state() const {
  if (simulated_) return api::KubernetesState::simulated;
  return engine_.cluster_state().connected ? api::KubernetesState::connected
                                           : api::KubernetesState::unreachable;
}

std::vector<Check> ClusterWork::readiness() const {
  const auto cluster = engine_.cluster_state();
  std::vector<Check> checks = {
      {.name = "kubernetes",
       .ok = cluster.connected,
       .detail = cluster.connected ? std::string(to_string(state())) : cluster.last_error}};
  // A process that doesn't lead still serves the API.
  if (const auto leadership = engine_.leadership())
    checks.push_back(
        {.name = "leader", .ok = leadership->leading, .detail = words_of(*leadership)});
  return checks;
}

// One machine has no registry that certainly has berth's image, so that it makes one.
std::string ClusterWork::isolation_image() const {
  if (!parts_.config.isolation_image.empty() || !machine_) return parts_.config.isolation_image;
  return machine_->program_image();
}

std::string ClusterWork::ingress_socket() const {
  return machine_ ? machine_->console_socket() : "";
}

std::optional<std::string> ClusterWork::own_url() const {
  return machine_ ? std::optional(machine_->url_of("localhost")) : std::nullopt;
}

reconcilers::RequestCounts ClusterWork::counts() const {
  reconcilers::RequestCounts counts{.traefik_url = parts_.config.traefik_metrics_url};
  if (machine_) {
    counts.own = [this] { return machine_->traffic(); };
    counts.own_long = [this] { return machine_->long_requests(); };
  }
  return counts;
}

// The simulated cluster's ingress controller is berthd itself, which answers at once.
reconcilers::LoadSource ClusterWork::load() const {
  if (!simulated_) return reconcilers::counted_load(counts());
  return [cluster = simulated_.get()](
             const auto&, reconcilers::LoadTime) -> std::optional<reconcilers::RequestLoad> {
    const auto told = cluster->in_flight();
    if (!told) return std::nullopt;
    return reconcilers::RequestLoad{.in_flight = {told->begin(), told->end()}};
  };
}

std::string ClusterWork::url_of(const std::string& host) const {
  if (machine_) return machine_->url_of(host);
  if (simulated_) return "http://" + host + ":" + std::to_string(parts_.listeners().front().port);
  const bool has_tls = parts_.config.wildcard_tls_secret || parts_.config.cluster_issuer;
  return (has_tls ? "https://" : "http://") + host;
}

std::unique_ptr<exec::Session> ClusterWork::open_session(const exec::Wanted& wanted) {
  embedded::Cluster* const embedded = machine_ ? &machine_->cluster() : simulated_.get();
  if (embedded == nullptr && !exec_)
    throw Error(Code::invalid_state,
                "sessions in containers are off on this platform, until whoever runs it sets "
                "exec-service-account in berthd's configuration");
  const auto container = reconcilers::running_container(engine_.cache(), wanted);
  return embedded != nullptr ? open_embedded(*embedded, container, wanted)
                             : exec_->open(container, wanted);
}

api::Fleet ClusterWork::fleet() {
  Storage& storage = parts_.storage;
  const auto work = engine_.work_now();
  const auto leadership = engine_.leadership();
  const DiskSpace disk = storage.disk_space().value_or(DiskSpace());
  return {.leader = leadership ? leadership->holder : "",
          .leads = engine_.is_leading(),
          .cluster_error = engine_.cluster_state().last_error,
          .waiting = std::int64_t(work.waiting),
          .stalled = std::int64_t(work.stalled),
          .longest_seconds = work.longest.count(),
          .errors = work.errors,
          .backup_age = storage.backup_age(),
          .database_bytes = storage.database_bytes(),
          .history_bytes = storage.bytes_of(usage_history_name),
          .disk_bytes = disk.total,
          .disk_free_bytes = disk.free};
}

}  // namespace berth
