// The composition root: with platform_parts.cpp, the only file that knows all parts of berthd.
#include "controller/berthd/platform.h"

#include <SQLiteCpp/Exception.h>
#include <prometheus/collectable.h>
#include <prometheus/registry.h>
#include <sqlite3.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "api/console/console.h"
#include "api/console/documentation.h"
#include "api/gate/gate.h"
#include "api/pages/pages.h"
#include "api/transport/server.h"
#include "controller/base/ascii.h"
#include "controller/base/id.h"
#include "controller/base/url.h"
#include "controller/base/version.h"
#include "controller/berthd/backup/maker.h"
#include "controller/berthd/backup/newest.h"
#include "controller/berthd/data_dir.h"
#include "controller/berthd/exit_codes.h"
#include "controller/berthd/gauges.h"
#include "controller/berthd/isolation_watch.h"
#include "controller/berthd/move/marks.h"
#include "controller/berthd/move/move.h"
#include "controller/berthd/notify_ready.h"
#include "controller/berthd/open_database.h"
#include "controller/berthd/ops_server.h"
#include "controller/berthd/platform_parts.h"
#include "controller/berthd/shared_keys.h"
#include "controller/db/postgres/failure.h"
#include "controller/domain/apps/built_in.h"
#include "controller/domain/deployments/custom_domains/suffix_list.h"
#include "controller/domain/kernel/clock_advance.h"
#include "controller/domain/kernel/disk_room.h"
#include "controller/domain/kernel/meta.h"
#include "controller/domain/kernel/replicas.h"
#include "controller/domain/kernel/write_budgets.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/pending.h"
#include "reconcilers/cluster/container_logs.h"
#include "reconcilers/cluster/engine.h"
#include "reconcilers/cluster/usage_history.h"
#include "reconcilers/cluster/usage_sampler.h"
#include "reconcilers/loops/ads.h"
#include "reconcilers/loops/billing.h"
#include "reconcilers/loops/expiry.h"
#include "reconcilers/loops/ledger.h"
#include "reconcilers/loops/mail.h"
#include "reconcilers/loops/password_resets.h"
#include "reconcilers/loops/pending_credits.h"
#include "reconcilers/loops/presence.h"
#include "reconcilers/loops/webhooks.h"
#include "reconcilers/simulated/cluster.h"

namespace berth {
namespace {

constexpr std::chrono::seconds drain_grace{
    20};  // less than Kubernetes' 30 s between SIGTERM and SIGKILL

// How often the security log reports what it left out.
constexpr std::chrono::seconds summaries_interval{10};

// A first start needs about half of this room on the disk. A start that fails with less has
// probably failed because the disk is full.
constexpr std::uintmax_t room_to_start = 4 << 20;

bool is_out_of_room(const std::exception& failure, const std::filesystem::path& data_dir) {
  const auto* of_sqlite = dynamic_cast<const SQLite::Exception*>(&failure);
  if (of_sqlite != nullptr && (of_sqlite->getErrorCode() & 0xff) == SQLITE_FULL) return true;
  std::error_code unknown;
  const auto space = std::filesystem::space(data_dir, unknown);
  return !unknown && space.available < room_to_start;
}

// Returns the id of this database on every cluster that it uses, which is created once.
std::string instance_of(db::Tx& tx) {
  constexpr std::string_view key = "instance";
  if (auto known = meta::find(tx, key)) return *std::move(known);
  const std::string id = new_uuid(tx.now());
  meta::put(tx, key, id);
  return id;
}

void first_start(db::Tx& tx, const Config& config) {
  tiers::seed(tx, config.tiers);
  apps::add_built_in(tx);
  ledger::fold_foreign(tx);
  if (tx.number(R"(SELECT count(*) FROM ledger_accounts WHERE kind = 'treasury')") > 0) return;
  ledger::open_account(tx, ledger::treasury());
  ledger::open_account(tx, ledger::issuance());
  if (config.treasury_genesis > 0)
    ledger::mint(tx, ledger::treasury(), config.treasury_genesis, "genesis");
}

api::KubernetesState state_of(const reconcilers::Engine& engine, bool simulated) {
  if (simulated) return api::KubernetesState::simulated;
  return engine.cluster_state().connected ? api::KubernetesState::connected
                                          : api::KubernetesState::unreachable;
}

// With the simulated cluster, berthd itself answers requests for hosts below apps-domain.
bool answer_page(const simulated::Cluster& cluster, const std::string& apps_domain,
                 const api::Request& request, api::Response& response) {
  const std::string host = lower_case(request.host.substr(0, request.host.rfind(':')));
  if (!host.ends_with("." + apps_domain)) return false;
  const simulated::Page page = cluster.page(host);
  response.status = page.status;
  response.content_type = "text/html; charset=utf-8";
  response.body = page.html;
  response.add_header("Cache-Control", "no-store");
  return true;
}

std::string words_of(const reconcilers::Leader::State& leadership) {
  if (leadership.leading) return "this process";
  if (!leadership.last_error.empty()) return leadership.last_error;
  return leadership.holder.empty() ? "nobody" : "standby for " + leadership.holder;
}

std::vector<Check> readiness(db::Database& database, const reconcilers::Engine& engine,
                             api::KubernetesState cluster) {
  const auto state = engine.cluster_state();
  std::vector<Check> checks = {
      {.name = "database", .ok = database.takes_writes(), .detail = {}, .decides = true},
      {.name = "kubernetes",
       .ok = state.connected,
       .detail = state.connected ? std::string(to_string(cluster)) : state.last_error,
       .decides = false}};
  // A process that doesn't lead still serves the API.
  if (const auto leadership = engine.leadership())
    checks.push_back(
        {.name = "leader", .ok = leadership->leading, .detail = words_of(*leadership)});
  return checks;
}

// Waits for SIGTERM or SIGINT, which every thread has blocked.
int wait_for_signal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  int received = 0;
  sigwait(&signals, &received);
  return received;
}

std::int64_t size_of(const std::filesystem::path& file) {
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(file, missing);
  return missing ? 0 : std::int64_t(bytes);
}

constexpr std::string_view secret_header = "x-internal-secret";

// Returns the request without the internal secret.
api::Request without_secret(const api::Request& request) {
  api::Request plain = request;
  plain.headers.clear();
  for (const auto& field : request.headers)
    if (!api::same_name(field.name, secret_header)) plain.headers.add(field.name, field.value);
  return plain;
}

int bind(api::Server& server) {
  return or_end_with(exit_address, "listen", [&] { return server.bind(); });
}

// Everything that lives as long as berthd serves, in the order in which it is created.
class Platform {
 public:
  explicit Platform(const Config& config);
  // Serves until SIGTERM or SIGINT, which every thread has blocked.
  void run();

 private:
  std::string first_write();
  reconcilers::UsageSampler usage_sampler();
  api::Fleet fleet();
  std::optional<DiskSpace> disk_space() const;
  void flush_write_counts();
  std::string url_of(const std::string& host) const;
  std::optional<api::Health> health_of(const std::string& deployment_id);
  api::Usage usage_of(const deployments::Deployment& row);
  backup::Source rows_for_backups();
  api::Backup begin_backup(const std::string& key);
  std::vector<Address> listeners() const;
  api::Services services();
  std::string internal_secret() const;
  void tell(db::Topic topic, const std::string& id);
  void answer(const api::Request& request, api::Response& response);
  // Answers a request to `listen`. If the internal routes have a listener of their own, the
  // internal secret is ignored here.
  void answer_public(const api::Request& request, api::Response& response);
  std::unique_ptr<api::Server> internal_server();
  api::KubernetesState cluster_state() const { return state_of(engine_, simulated_ != nullptr); }
  Gauges::Http counters();
  Replicas* replicas() const { return replicas_.get(); }
  std::unique_ptr<api::LoginThrottle> login_throttle();
  void follow();
  void reread_all();
  void start();
  void announce();
  void leave();
  void stop();
  void stop_all();

  const Config& config_;
  DataDir data_{config_.data_dir};
  Keys keys_ = data_.keys(config_.keys_file);
  Clock clock_;
  const OpenedDatabase opened_ = open_database(config_, data_, clock_);
  db::Database& database_ = *opened_.database;
  const std::string instance_ = first_write();
  // Null on SQLite, because only a PostgreSQL database can have several berthd processes.
  const std::unique_ptr<Replicas> replicas_ =
      opened_.postgres != nullptr ? std::make_unique<Replicas>(database_) : nullptr;
  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();

  const std::unique_ptr<simulated::Cluster> simulated_ = simulated_cluster(config_);
  reconcilers::Engine engine_;
  reconcilers::BillingLoop billing_{database_, keys_.data, {.replicas = replicas()}};
  reconcilers::UsageHistory usage_history_{data_.path() / usage_history_name};
  reconcilers::UsageSampler usage_sampler_ = usage_sampler();
  reconcilers::Repeating measuring_{"usage",
                                    [this] { usage_sampler_.run_once(); },
                                    {.interval = reconcilers::UsageSampler::interval}};
  IsolationWatch isolation_{{.config = config_,
                             .database = database_,
                             .clock = clock_,
                             .engine = engine_,
                             .settings = manifest_settings(config_, instance_),
                             .listeners = [this] { return listeners(); }}};
  ads::CampaignIndex campaign_index_;
  const std::shared_ptr<api::EventHub> events_ = std::make_shared<api::EventHub>(
      api::EventHub::Limits{.streams = size_t(config_.max_connections) * 3 / 4});
  reconcilers::ContainerLogs container_logs_{engine_.client(), engine_.cache()};

  api::Server server_;
  const Address listening_ = {.host = config_.listen.host, .port = bind(server_)};
  const std::unique_ptr<api::Server> internal_server_ = internal_server();  // may be null
  const int internal_port_ = internal_server_ ? bind(*internal_server_) : 0;
  const std::string base_url_ = config_.base_url.value_or("http://" + listening_.text());
  std::string base_host() const {
    const auto url = parse_url(base_url_);
    return url ? url->host : listening_.host;
  }

  PasswordHasher passwords_;
  backup::Maker backups_{data_, clock_, version, rows_for_backups()};
  const std::unique_ptr<api::LoginThrottle> login_throttle_ = login_throttle();
  api::SecurityLog security_log_{*registry_};
  connections::UseLog uses_;
  accounts::SessionUses session_uses_;
  devices::UseLog device_uses_;
  reconcilers::ExpiryLoop expiry_{
      database_, {&uses_, &session_uses_, &device_uses_}, {.replicas = replicas()}};
  reconcilers::AdsLoop ads_{database_, campaign_index_, {.replicas = replicas()}};
  reconcilers::LedgerLoop ledger_{database_, {.replicas = replicas()}};
  reconcilers::PendingCredits pending_credits_{database_, {.replicas = replicas()}};
  const api::Services services_ = services();
  api::HttpMetrics http_metrics_{*registry_};
  api::Gate gate_{services_, http_metrics_};
  api::pages::Pages pages_{services_, http_metrics_};
  const api::console::Console console_{services_.base_url};
  const std::shared_ptr<Gauges> gauges_ =
      std::make_shared<Gauges>(Gauges::Sources{.database = database_,
                                               .postgres = opened_.postgres,
                                               .replicas = replicas(),
                                               .data_dir = config_.data_dir,
                                               .http = [this] { return counters(); },
                                               .isolation = [this] { return isolation_.gauge(); },
                                               .billing = [this] { return billing_.outcomes(); }});
  OpsServer ops_{config_.metrics_listen, common_headers(config_), *registry_, gauges_, [this] {
                   // A probe doesn't wait for a database that can't be reached.
                   return db::limited(db::RequestLimits(), [this] {
                     return readiness(database_, engine_, cluster_state());
                   });
                 }};
  const std::unique_ptr<reconcilers::MailLoop> mail_ =
      mail_loop(config_, database_, clock_, keys_, registry_);
  const std::unique_ptr<reconcilers::WebhookLoop> webhooks_ =
      webhook_loop(config_, database_, services_, registry_);
  reconcilers::PasswordResets password_resets_{database_, keys_, base_url_, replicas()};
  reconcilers::PresenceLoop presence_{
      database_, services_.presence,
      replicas_ ? reconcilers::PresenceLoop::shared_interval : reconcilers::PresenceLoop::interval};
  reconcilers::Repeating summaries_{"security log",
                                    [this] { security_log_.write_summaries(); },
                                    {.interval = summaries_interval}};
  reconcilers::Repeating write_counts_{"write counts",
                                       [this] { flush_write_counts(); },
                                       {.interval = write_budgets::Counts::flush_interval}};
  SharedKeys shared_keys_{database_, data_, keys_};
  // Started only on PostgreSQL, where several berthd processes can serve one database.
  reconcilers::Repeating following_{
      "following", [this] { follow(); }, {.interval = Replicas::beat_interval}};
  std::thread serving_;
  std::thread serving_internal_;
};

Platform::Platform(const Config& config)
    : config_(config),
      engine_(engine_parts(config, simulated_.get(), database_, keys_, instance_, registry_,
                           [this] { return isolation_.why_new_ones_wait(); }),
              {.workers = config.reconcile_workers,
               .patience = {},
               .dns = {.servers = config.dns_servers},
               .leader = {},
               .traefik_metrics_url = config.traefik_metrics_url,
               .images = {.max_bytes = simulated_ ? 0 : config.max_image_bytes,
                          .unknown = config.unknown_image_size}}),
      server_(server_options(config, config.internal_listen ? "" : internal_secret()),
              [this](const api::Request& request, api::Response& response) {
                answer_public(request, response);
              }) {
  // Nothing has been written before this, so no notification is missed.
  database_.subscribe([this](db::Topic topic, const std::string& id) { tell(topic, id); });
  if (opened_.postgres == nullptr) return;
  replicas_->beat();
  shared_keys_.reread();
  opened_.postgres->exchange_notices([this] { reread_all(); });
}

std::string Platform::first_write() {
  // In production, data that comes from a development machine is served with the machine's own
  // time.
  if (!config_.production) clock_.advance(database_.read(clock_advance::stored));
  return database_.write([this](db::Tx& tx) {
    require_own_keys(tx, config_, data_, keys_);
    first_start(tx, config_);
    return instance_of(tx);
  });
}

reconcilers::UsageSampler Platform::usage_sampler() {
  return reconcilers::UsageSampler(
      {.cache = engine_.cache(),
       .history = usage_history_,
       .clock = clock_,
       .cluster = cluster_access(config_, simulated_.get()),
       .label_selector = manifests::selector(manifest_settings(config_, instance_)),
       .traefik_metrics_url = config_.traefik_metrics_url});
}

std::vector<Address> Platform::listeners() const {
  std::vector<Address> all = {listening_,
                              {.host = config_.metrics_listen.host, .port = ops_.port()}};
  if (internal_server_)
    all.push_back({.host = config_.internal_listen->host, .port = internal_port_});
  return all;
}

api::Fleet Platform::fleet() {
  const auto work = engine_.work_now();
  const auto leadership = engine_.leadership();
  const auto bytes_of = [this](const char* name) {
    const std::filesystem::path file = data_.path() / name;
    return size_of(file) + size_of(file.string() + "-wal");
  };
  const std::int64_t database_bytes =
      opened_.postgres != nullptr ? opened_.postgres->bytes() : bytes_of(database_name);
  const DiskSpace disk = disk_space().value_or(DiskSpace());
  return {.leader = leadership ? leadership->holder : "",
          .leads = engine_.is_leading(),
          .cluster_error = engine_.cluster_state().last_error,
          .waiting = std::int64_t(work.waiting),
          .stalled = std::int64_t(work.stalled),
          .longest_seconds = work.longest.count(),
          .errors = work.errors,
          .backup_age = database_.read([this](db::Tx& tx) {
            return opened_.postgres == nullptr ? std::optional(backup::age_of_newest(tx))
                                               : backup::since_newest(tx);
          }),
          .database_bytes = database_bytes,
          .history_bytes = bytes_of(usage_history_name),
          .disk_bytes = disk.total,
          .disk_free_bytes = disk.free};
}

// Returns the size of the data directory's file system, or nothing if it can't be found out.
std::optional<DiskSpace> Platform::disk_space() const {
  std::error_code unknown;
  const auto space = std::filesystem::space(data_.path(), unknown);
  if (unknown) return std::nullopt;
  return DiskSpace{.total = std::int64_t(space.capacity), .free = std::int64_t(space.available)};
}

void Platform::flush_write_counts() {
  try {
    services_.write_counts->flush(database_, clock_.now());
  } catch (const std::exception& failure) {
    log::warning("how much was stored today couldn't be written down", {{"error", failure.what()}});
  }
}

// Runs after a commit on a thread of the database, one call at a time. On PostgreSQL it also runs
// after commits of other berthd processes.
void Platform::tell(db::Topic topic, const std::string& id) {
  events_->wake(topic, id);
  if (topic == db::Topic::app_balance) billing_.credited(id);
  if (topic == db::Topic::campaign) campaign_index_.changed(id);
  if (topic == db::Topic::custom_domain) engine_.enqueue_domain(id);
  if (topic == db::Topic::deployment) {
    engine_.enqueue(id);
    // A change of what is wanted also changes the status that streams show.
    events_->wake(db::Topic::deployment_seen, id);
  }
  // Deliveries are created by webhooks::emit or by the triggers on deployments, which use these
  // topics.
  if (topic == db::Topic::webhook || topic == db::Topic::deployment ||
      topic == db::Topic::deployment_seen || topic == db::Topic::custom_domain) {
    webhooks_->wake();
    events_->wake(db::Topic::webhook, api::events_of_all_apps);
  }
}

void Platform::answer(const api::Request& request, api::Response& response) {
  if (simulated_ && answer_page(*simulated_, config_.apps_domain, request, response)) return;
  if (!console_.handle(request, response) &&
      !api::console::answer_documentation(request, response) && !pages_.handle(request, response))
    gate_.handle(request, response);
}

void Platform::answer_public(const api::Request& request, api::Response& response) {
  if (config_.internal_listen && request.headers.count(secret_header) > 0)
    answer(without_secret(request), response);
  else
    answer(request, response);
}

std::unique_ptr<api::Server> Platform::internal_server() {
  if (!config_.internal_listen) return nullptr;
  return std::make_unique<api::Server>(
      internal_server_options(config_, internal_secret()),
      [this](const api::Request& request, api::Response& response) { answer(request, response); });
}

Gauges::Http Platform::counters() {
  const api::ServerCounters counters = server_.counters();
  return {.open_connections = counters.open_connections,
          .running_handlers = counters.running_handlers,
          .open_streams = counters.open_streams,
          .refused_connections = counters.refused_connections,
          .displaced_connections = counters.displaced_connections};
}

std::string Platform::url_of(const std::string& host) const {
  if (simulated_) return "http://" + host + ":" + std::to_string(listening_.port);
  const bool has_tls = config_.wildcard_tls_secret || config_.cluster_issuer;
  return (has_tls ? "https://" : "http://") + host;
}

std::optional<api::Health> Platform::health_of(const std::string& deployment_id) {
  const auto health = engine_.health(deployment_id);
  if (!health) return std::nullopt;
  return api::Health{.ready = health->ready, .age = health->age};
}

api::Usage Platform::usage_of(const deployments::Deployment& row) {
  const reconcilers::Usage usage = engine_.usage(row);
  return {.cpu_millicores = usage.cpu_millicores,
          .memory_bytes = usage.memory_bytes,
          .restarts = usage.restarts,
          .requests = usage.requests};
}

// On PostgreSQL, too, an archive has a SQLite file, so that it can be restored to either engine.
backup::Source Platform::rows_for_backups() {
  if (opened_.postgres == nullptr) return backup::file_of(data_);
  return {.copy =
              [this](const std::filesystem::path& to, const db::sqlite::GoOn& go_on) {
                try {
                  move::copy_to_file(*config_.database, to, go_on);
                } catch (const db::postgres::Unusable& failure) {
                  log::error("the database couldn't be copied for a backup",
                             {{"error", failure.what()}});
                  throw Error(Code::unavailable, "the database can't be reached at the moment");
                }
              },
          .bytes = [this] { return std::uintmax_t(opened_.postgres->bytes()); }};
}

api::Backup Platform::begin_backup(const std::string& key) {
  const std::shared_ptr<backup::Outgoing> archive = backups_.begin(key);
  const auto step = [this, archive](const api::Sink& sink) {
    if (archive->step(sink)) return api::Next::more;
    if (archive->is_complete()) database_.write(backup::note_made);
    return api::Next::end;
  };
  return {.bytes = archive->size(), .stream = step};
}

api::Services Platform::services() {
  return {.db = database_,
          .clock = clock_,
          .keys = keys_,
          .passwords = passwords_,
          .uses = uses_,
          .session_uses = session_uses_,
          .device_uses = device_uses_,
          .security = security_log_,
          .replicas = replicas(),
          .presence = std::make_shared<presence::Board>(replicas_ ? presence::Kept::in_database
                                                                  : presence::Kept::in_memory),
          .write_counts = std::make_shared<write_budgets::Counts>(keys_.data),
          // PostgreSQL's disk is on another machine, and its free space is unknown.
          .disk_room = opened_.postgres != nullptr
                           ? std::make_shared<DiskRoom>()
                           : std::make_shared<DiskRoom>([this] { return disk_space(); }),
          .environment =
              config_.production ? api::Environment::production : api::Environment::development,
          .base_url = base_url_,
          .internal_secret = internal_secret(),
          .rate_limits = config_.rate_limits,
          .write_limits = config_.rate_limits,
          .trusted_proxies = config_.trusted_proxies,
          .session_lifetime = config_.session_lifetime,
          .reserved_names = config_.reserved_names,
          .password_blocklist = config_.password_blocklist,
          .jwt_idle_timeout = config_.jwt_idle_timeout,
          .browser_idle_timeout = config_.session_idle_timeout,
          .signup_bonus = config_.signup_bonus,
          .reward_rules = config_.reward_rules,
          .campaign_index = campaign_index_,
          .ad_rules = config_.ad_rules,
          .oauth_policy = {.refresh_reuse_grace = config_.refresh_reuse_grace,
                           .family_lifetime = config_.refresh_family_lifetime,
                           .secret_grace = config_.secret_grace},
          .deployment_rules = {.registries = config_.registries,
                               .apps_domain = config_.apps_domain,
                               .base_host = base_host(),
                               .reserved_names = config_.reserved_names},
          .login_throttle = *login_throttle_,
          .rotate_session_key =
              [this] {
                return opened_.postgres != nullptr
                           ? shared_keys_.rotate(clock_.now(), config_.session_lifetime)
                           : data_.rotate_session_key(keys_, clock_.now(),
                                                      config_.session_lifetime);
              },
          .events = events_,
          .url_of = [this](const std::string& host) { return url_of(host); },
          .kubernetes_state = [this] { return cluster_state(); },
          .orphans =
              [this] {
                const auto ids = engine_.orphans();
                return std::vector<std::string>(ids.begin(), ids.end());
              },
          .deployment_health = [this](const std::string& id) { return health_of(id); },
          .deployment_usage = [this](const deployments::Deployment& row) { return usage_of(row); },
          .usage_history = [this](const auto& wanted) { return usage_history_.read(wanted); },
          .fleet = [this] { return fleet(); },
          .isolation = [this] { return isolation_.now(); },
          .probe_isolation = [this] { return isolation_.ask(); },
          .container_logs =
              [this](const container_logs::Wanted& wanted) { return container_logs_.open(wanted); },
          .backup = [this](const std::string& key) { return begin_backup(key); }};
}

std::string Platform::internal_secret() const {
  return config_.internal_secret ? *config_.internal_secret : data_.internal_secret();
}

std::unique_ptr<api::LoginThrottle> Platform::login_throttle() {
  return replicas_ ? std::make_unique<api::LoginThrottle>(database_, keys_.data)
                   : std::make_unique<api::LoginThrottle>();
}

// Treats everything as changed, because notices may have been lost.
void Platform::reread_all() {
  engine_.look_at_all();
  campaign_index_.any_changed();
  billing_.any_credited();
  events_->wake_all();
  webhooks_->wake();
}

void Platform::follow() {
  try {
    // This process may have been cut off from the server while `berthd migrate` moved the database.
    database_.read(move::require_not_moved);
    if (replicas_->beat()) reread_all();
    if (!config_.production) clock_advance::catch_up(clock_, database_.read(clock_advance::stored));
    shared_keys_.reread();
    isolation_.reread();
  } catch (const StartError& moved) {
    log::error("berthd ends", {{"error", moved.what()}});
    ::kill(::getpid(), SIGTERM);  // serve() waits for it
  } catch (const std::exception& failure) {
    log::warning("what other berthd processes have changed couldn't be read",
                 {{"error", failure.what()}});
  }
}

void Platform::start() {
  if (opened_.postgres != nullptr) following_.start();
  campaign_index_.refresh(database_);
  engine_.start();
  measuring_.start();
  isolation_.start();
  if (mail_) mail_->start();
  webhooks_->start();
  expiry_.start();
  password_resets_.start();
  presence_.start();
  summaries_.start();
  write_counts_.start();
  billing_.start();
  ads_.start();
  ledger_.start();
  if (opened_.postgres != nullptr) pending_credits_.start();
  serving_ = std::thread([this] { server_.run(); });
  if (internal_server_) serving_internal_ = std::thread([this] { internal_server_->run(); });
}

void Platform::announce() {
  data_.write("berthd.addr", listening_.text() + "\n");
  const Address metrics = {.host = config_.metrics_listen.host, .port = ops_.port()};
  if (internal_server_) {
    const Address internal = {.host = config_.internal_listen->host, .port = internal_port_};
    data_.write("berthd.internal.addr", internal.text() + "\n");
    log::info("the internal API has a listener of its own", {{"listen", internal.text()}});
  }
  data_.write("berthd.metrics.addr", metrics.text() + "\n");
  notify_ready();
  for (const std::string& key : config_.without_effect)
    log::warning("this key has no effect in this version of berthd", {{"key", key}});
  suffix_list::announce(clock_.now());
  if (config_.production && config_.ingress_namespace.empty() && config_.ingress_ranges.empty())
    log::warning(
        "ingress-namespace is empty: every namespace that isn't an app's may send requests "
        "to operators' containers");
  if (simulated_) log::info("the cluster is simulated, so no container really runs");
  log::info("ready", {{"listen", listening_.text()},
                      {"base_url", base_url_},
                      {"metrics", metrics.text()},
                      {"version", version},
                      {"kubernetes", to_string(cluster_state())},
                      {"instance", instance_}});
}

// Gives up this process's leases, so that other processes take over its loops at once.
void Platform::leave() {
  if (!replicas_) return;
  try {
    replicas_->leave();
  } catch (const std::exception& failure) {
    log::warning("the other processes weren't told that this one stops",
                 {{"error", failure.what()}});
  }
}

// Also called after a start that failed halfway.
void Platform::stop() {
  // The last writes don't wait for a server that is away, but SQLite's wait for one another.
  if (opened_.postgres != nullptr)
    db::limited(db::RequestLimits(), [this] { stop_all(); });
  else
    stop_all();
}

void Platform::stop_all() {
  backups_.stop();
  // New connections to the internal listener are refused while the other one drains.
  std::thread draining([this] {
    if (internal_server_) internal_server_->shutdown(drain_grace);
  });
  const auto drained = server_.shutdown(drain_grace);
  draining.join();
  if (serving_.joinable()) serving_.join();
  if (serving_internal_.joinable()) serving_internal_.join();
  if (mail_) mail_->stop();
  webhooks_->stop();
  billing_.stop();
  measuring_.stop();
  isolation_.stop();
  engine_.stop();
  expiry_.stop();
  password_resets_.stop();
  presence_.stop();
  summaries_.stop();
  if (write_counts_.stop()) flush_write_counts();
  ads_.stop();
  ledger_.stop();
  pending_credits_.stop();
  following_.stop();
  // A handler that doesn't return would keep berthd from ending. Its request hasn't been answered,
  // and the database can be closed at any moment.
  const auto running_internal =
      internal_server_ ? internal_server_->counters().running_handlers : 0;
  if (const auto running = server_.counters().running_handlers + running_internal; running > 0) {
    log::error("berthd stopped although some handlers hadn't returned", {{"handlers", running}});
    std::_Exit(EXIT_FAILURE);
  }
  if (opened_.postgres != nullptr) opened_.postgres->end_notices();
  leave();
  log::info("stopped", {{"drained", drained == api::Drained::all}});
}

void Platform::run() {
  try {
    start();
    announce();
  } catch (...) {
    stop();
    throw;
  }
  const int received = wait_for_signal();
  log::info("draining", {{"signal", received == SIGTERM ? "SIGTERM" : "SIGINT"}});
  stop();
}

}  // namespace

void serve(const Config& config) {
  try {
    Platform(config).run();
  } catch (const StartError&) {
    throw;
  } catch (const std::exception& failure) {
    if (!is_out_of_room(failure, config.data_dir)) throw;
    throw StartError(exit_disk_full, "the disk of the data directory " + config.data_dir.string() +
                                         " is full; make room and start again (" + failure.what() +
                                         ")");
  }
}

}  // namespace berth
