// The composition root: the one file that knows everything.
#include <malloc.h>
#include <prometheus/collectable.h>
#include <prometheus/registry.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "api/errors.h"
#include "api/gate.h"
#include "api/pages/pages.h"
#include "api/server.h"
#include "api/version.h"
#include "controller/backup/commands.h"
#include "controller/backup/maker.h"
#include "controller/base/id.h"
#include "controller/config.h"
#include "controller/data_dir.h"
#include "controller/domain/ledger.h"
#include "controller/gauges.h"
#include "controller/ops_server.h"
#include "reconcilers/ads.h"
#include "reconcilers/billing.h"
#include "reconcilers/container_logs.h"
#include "reconcilers/engine.h"
#include "reconcilers/expiry.h"
#include "reconcilers/mail.h"
#include "reconcilers/presence.h"
#include "reconcilers/simulated/cluster.h"
#include "reconcilers/webhooks.h"

namespace berth {
namespace {

constexpr int exit_config = 2;
constexpr int exit_data_dir = 3;
constexpr std::chrono::seconds drain_grace{
    20};  // below Kubernetes' 30 s between SIGTERM and SIGKILL

constexpr int large_block_bytes = 1 << 20;

struct CommandLine {
  std::map<std::string, std::string> flags;
  bool help = false;
  bool version = false;
  bool print_config = false;
  // What to do instead of serving.
  int (*command)(const backup::Arguments&, const Config&) = nullptr;
  backup::Arguments arguments;
};

// Adds a command that works on FILE.
CLI::App* add_command(CLI::App& app, CommandLine& line, const char* name, const char* meaning,
                      int (*run)(const backup::Arguments&, const Config&)) {
  CLI::App* command = app.add_subcommand(name, meaning)->fallthrough();
  command->add_option("FILE", line.arguments.file);
  command->add_option("--passphrase-file", line.arguments.passphrase_file);
  command->final_callback([&line, run] { line.command = run; });
  return command;
}

void add_commands(CLI::App& app, CommandLine& line) {
  CLI::App* backup =
      add_command(app, line, "backup", "ask the running berthd for an archive", backup::run_backup);
  backup->add_option("--url", line.arguments.url);
  backup->add_option("--keep", line.arguments.keep)->check(CLI::Range(0, 100'000));
  add_command(app, line, "restore", "make a data directory of an archive", backup::run_restore);
  add_command(app, line, "verify", "look whether a database or an archive is sound",
              backup::run_verify);
}

CommandLine parse_command_line(int argc, char** argv) {
  CommandLine line;
  CLI::App app("berthd");
  app.set_help_flag();
  app.add_flag("-h,--help", line.help);
  app.add_flag("--version", line.version);
  auto* print =
      app.add_subcommand("config", "print every key with its value and where it came from")
          ->fallthrough();
  add_commands(app, line);
  std::vector<std::string> names = flag_names();
  names.emplace_back("config");
  std::map<std::string, std::string> values;
  for (const std::string& name : names) app.add_option("--" + name, values[name]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    throw ConfigError(failure.what());
  }
  for (const std::string& name : names)
    if (app.count("--" + name) > 0) line.flags[name] = values[name];
  line.print_config = print->parsed();
  return line;
}

void print_settings(const std::vector<Setting>& settings) {
  for (const Setting& setting : settings)
    std::cout << setting.key << " = " << setting.value << "\n    # " << setting.meaning << " (from "
              << setting.source << ")\n";
}

std::string host_of(std::string_view url) {
  const size_t start = url.find("://") + 3;
  const std::string authority(url.substr(start, url.find('/', start) - start));
  const size_t colon = authority.rfind(':');
  return colon == std::string::npos || authority.back() == ']' ? authority
                                                               : authority.substr(0, colon);
}

// The id of this database on every cluster that it uses, made once.
std::string instance_of(db::Tx& tx) {
  auto rows = tx.query("SELECT value FROM meta WHERE key = 'instance'");
  if (rows.next()) return rows.text(0);
  const std::string id = new_uuid(tx.now());
  tx.execute("INSERT INTO meta (key, value) VALUES ('instance', $1)", id);
  return id;
}

void first_start(db::Tx& tx, const Config& config) {
  tiers::seed(tx, config.tiers);
  if (tx.number("SELECT count(*) FROM ledger_accounts WHERE kind = 'treasury'") > 0) return;
  ledger::open_account(tx, ledger::treasury());
  ledger::open_account(tx, ledger::issuance());
  if (config.treasury_genesis > 0)
    ledger::mint(tx, ledger::treasury(), config.treasury_genesis, "genesis");
}

kube::Kubeconfig cluster_access(const Config& config, const simulated::Cluster* simulated) {
  if (simulated != nullptr) {
    kube::Kubeconfig access;
    access.server = simulated->url();
    return access;
  }
  if (config.kubernetes == Cluster::in_cluster) return kube::in_cluster_config();
  return kube::load_kubeconfig(config.kubeconfig.value_or(kube::default_kubeconfig_path()),
                               config.context);
}

// Nobody else can use the simulated cluster: there is nothing to elect.
std::optional<std::string> lease_namespace(const Config& config) {
  if (config.kubernetes == Cluster::simulated) return std::nullopt;
  if (config.lease_namespace) return config.lease_namespace;
  return config.kubernetes == Cluster::in_cluster ? kube::in_cluster_namespace() : "default";
}

reconcilers::SmtpSettings smtp_settings(const Config& config) {
  reconcilers::SmtpSettings settings;
  settings.url = config.mail_server->url;
  settings.user = config.mail_server->user;
  settings.password = config.mail_server->password;
  settings.ca_file = config.mail_ca_file;
  const bool here = is_loopback(config.mail_server->host);
  const bool required = config.mail_tls == MailTlsRule::required ||
                        (config.mail_tls == MailTlsRule::automatic && !here);
  settings.tls = required ? reconcilers::MailTls::required : reconcilers::MailTls::if_offered;
  return settings;
}

std::unique_ptr<reconcilers::MailLoop> mail_loop(const Config& config, db::Database& database,
                                                 const Clock& clock, const Keys& keys,
                                                 std::shared_ptr<prometheus::Registry> registry) {
  if (!config.mail_server) {
    log::write(config.production ? log::Level::warning : log::Level::info,
               "smtp-url is empty: mail stays in the outbox");
    return nullptr;
  }
  return std::make_unique<reconcilers::MailLoop>(
      reconcilers::MailLoop::Parts{.database = database,
                                   .clock = clock,
                                   .data_key = keys.data,
                                   .server = smtp_settings(config),
                                   .from = *config.mail_from,
                                   .registry = std::move(registry)});
}

std::unique_ptr<reconcilers::WebhookLoop> webhook_loop(
    const Config& config, db::Database& database, const api::Services& services,
    std::shared_ptr<prometheus::Registry> registry) {
  const auto reach = config.webhook_allow_private ? reconcilers::Reach::private_too
                                                  : reconcilers::Reach::public_only;
  return std::make_unique<reconcilers::WebhookLoop>(
      reconcilers::WebhookLoop::Parts{.database = database,
                                      .clock = services.clock,
                                      .data_key = services.keys.data,
                                      .reach = reach,
                                      .url_of = services.url_of,
                                      .apps_domain = config.apps_domain,
                                      .registry = std::move(registry)});
}

std::string state_of(const reconcilers::Engine& engine, bool simulated) {
  if (simulated) return "simulated";
  return engine.cluster_state().connected ? "connected" : "unreachable";
}

// With the simulated cluster, the hosts below apps-domain are answered here.
bool answer_page(const simulated::Cluster& cluster, const std::string& apps_domain,
                 const api::Request& request, api::Response& response) {
  std::string host(request.host.substr(0, request.host.rfind(':')));
  for (char& c : host) c = char(std::tolower(static_cast<unsigned char>(c)));
  if (!host.ends_with("." + apps_domain)) return false;
  const simulated::Page page = cluster.page(host);
  response.status = page.status;
  response.content_type = "text/html; charset=utf-8";
  response.body = page.html;
  response.add_header("Cache-Control", "no-store");
  return true;
}

api::Response refusal(int status, std::string_view detail) {
  api::Response response;
  response.status = status;
  response.content_type = "application/json";
  response.body = api::framework_body(detail);
  return response;
}

std::string words_of(const reconcilers::Leader::State& leadership) {
  if (leadership.leading) return "this process";
  if (!leadership.last_error.empty()) return leadership.last_error;
  return leadership.holder.empty() ? "nobody" : "standby for " + leadership.holder;
}

std::vector<Check> readiness(db::Database& database, const reconcilers::Engine& engine,
                             const std::string& cluster) {
  const auto state = engine.cluster_state();
  std::vector<Check> checks = {
      {.name = "database", .ok = database.takes_writes(), .detail = {}, .decides = true},
      {.name = "kubernetes",
       .ok = state.connected,
       .detail = state.connected ? cluster : state.last_error,
       .decides = false}};
  // A standby serves the API all the same.
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

void block_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void serve(const Config& config) {
  DataDir data(config.data_dir);
  Keys keys = data.keys();
  Clock clock;
  db::Database database(data.database_file(), clock);
  const std::string instance = database.write([&](db::Tx& tx) {
    first_start(tx, config);
    return instance_of(tx);
  });

  const auto registry = std::make_shared<prometheus::Registry>();
  std::unique_ptr<simulated::Cluster> simulated;
  if (config.kubernetes == Cluster::simulated) simulated = std::make_unique<simulated::Cluster>();
  reconcilers::Engine engine({.database = database,
                              .cluster = cluster_access(config, simulated.get()),
                              .client = {},
                              .settings = {.instance = instance,
                                           .apps_domain = config.apps_domain,
                                           .ingress_class = config.ingress_class,
                                           .wildcard_tls_secret = config.wildcard_tls_secret,
                                           .cluster_issuer = config.cluster_issuer},
                              .data_key = keys.data,
                              .registry = registry,
                              .lease_namespace = lease_namespace(config)},
                             {.workers = config.reconcile_workers,
                              .patience = {},
                              .dns = {.servers = config.dns_servers},
                              .leader = {},
                              .traefik_metrics_url = config.traefik_metrics_url});
  ads::CampaignIndex campaign_index;
  reconcilers::BillingLoop billing(database, keys.data);
  const auto events = std::make_shared<api::EventHub>(
      api::EventHub::Limits{.streams = size_t(config.max_connections) * 3 / 4});
  std::unique_ptr<reconcilers::WebhookLoop> webhooks;
  database.subscribe([&, events](db::Topic topic, const std::string& id) {
    events->wake(topic, id);
    if (topic == db::Topic::app_balance) billing.credited(id);
    if (topic == db::Topic::campaign) campaign_index.changed(id);
    if (topic == db::Topic::custom_domain) engine.enqueue_domain(id);
    if (topic == db::Topic::deployment) {
      engine.enqueue(id);
      // Another wish is another status, too.
      events->wake(db::Topic::deployment_seen, id);
    }
    if (webhooks) webhooks->wake();
  });

  reconcilers::ContainerLogs container_logs(engine.client(), engine.cache());
  std::unique_ptr<api::Gate> gate;
  std::unique_ptr<api::pages::Pages> pages;
  const api::Handler handler = [&](const api::Request& request, api::Response& response) {
    if (simulated && answer_page(*simulated, config.apps_domain, request, response)) return;
    if (!pages->handle(request, response)) gate->handle(request, response);
  };
  api::Server server({.host = config.listen.host,
                      .port = config.listen.port,
                      .http_threads = size_t(config.http_threads),
                      .max_connections = size_t(config.max_connections),
                      .max_body_bytes = size_t(config.max_body_bytes),
                      .request_timeout = config.request_timeout,
                      .render_refusal = refusal},
                     handler);
  const Address listening = {.host = config.listen.host, .port = server.bind()};

  PasswordHasher passwords;
  backup::Maker backups(data, clock, api::version);
  api::LoginThrottle login_throttle;
  connections::UseLog uses;
  reconcilers::ExpiryLoop expiry(database, uses);
  reconcilers::AdsLoop ads_loop(database);
  const std::string base_url = config.base_url.value_or("http://" + listening.text());
  const bool is_simulated = simulated != nullptr;
  const api::Services services = {
      .db = database,
      .clock = clock,
      .keys = keys,
      .passwords = passwords,
      .uses = uses,
      .environment =
          config.production ? api::Environment::production : api::Environment::development,
      .base_url = base_url,
      .internal_secret = config.internal_secret ? *config.internal_secret : data.internal_secret(),
      .rate_limits = config.rate_limits,
      .trusted_proxies = config.trusted_proxies,
      .session_lifetime = config.session_lifetime,
      .signup_bonus = config.signup_bonus,
      .reward_rules = config.reward_rules,
      .campaign_index = campaign_index,
      .ad_rules = config.ad_rules,
      .oauth_policy = {.refresh_reuse_grace = config.refresh_reuse_grace,
                       .family_lifetime = config.refresh_family_lifetime,
                       .secret_grace = config.secret_grace},
      .deployment_rules = {.registries = config.registries,
                           .apps_domain = config.apps_domain,
                           .base_host = host_of(base_url)},
      .login_throttle = login_throttle,
      .rotate_session_key =
          [&] { return data.rotate_session_key(keys, clock.now(), config.session_lifetime); },
      .events = events,
      .url_of =
          [&config, is_simulated, port = listening.port](const std::string& host) {
            if (is_simulated) return "http://" + host + ":" + std::to_string(port);
            const bool has_tls = config.wildcard_tls_secret || config.cluster_issuer;
            return (has_tls ? "https://" : "http://") + host;
          },
      .kubernetes_state = [&] { return state_of(engine, is_simulated); },
      .orphans =
          [&] {
            const auto ids = engine.orphans();
            return std::vector<std::string>(ids.begin(), ids.end());
          },
      .deployment_health = [&](const std::string& id) -> std::optional<api::Health> {
        const auto health = engine.health(id);
        if (!health) return std::nullopt;
        return api::Health{.ready = health->ready, .age = health->age};
      },
      .deployment_usage =
          [&](const deployments::Deployment& row) {
            const reconcilers::Usage usage = engine.usage(row);
            return api::Usage{.cpu_millicores = usage.cpu_millicores,
                              .memory_bytes = usage.memory_bytes,
                              .restarts = usage.restarts,
                              .requests = usage.requests};
          },
      .container_logs =
          [&](const container_logs::Wanted& wanted) { return container_logs.open(wanted); },
      .backup =
          [&](const std::string& key) {
            const std::shared_ptr<backup::Outgoing> archive = backups.begin(key);
            const auto step = [archive](const api::Sink& sink) {
              return archive->step(sink) ? api::Next::more : api::Next::end;
            };
            return api::Backup{.bytes = archive->size(), .stream = step};
          }};
  api::HttpMetrics http_metrics(*registry);
  gate = std::make_unique<api::Gate>(services, http_metrics);
  pages = std::make_unique<api::pages::Pages>(services, http_metrics);
  const auto gauges = std::make_shared<Gauges>(database, [&] {
    const api::ServerCounters counters = server.counters();
    return Gauges::Http{.open_connections = counters.open_connections,
                        .running_handlers = counters.running_handlers,
                        .refused_connections = counters.refused_connections};
  });
  OpsServer ops(config.metrics_listen, *registry, gauges,
                [&] { return readiness(database, engine, state_of(engine, is_simulated)); });

  const auto mail = mail_loop(config, database, clock, keys, registry);
  webhooks = webhook_loop(config, database, services, registry);
  campaign_index.refresh(database);
  engine.start();
  if (mail) mail->start();
  webhooks->start();
  expiry.start();
  reconcilers::PresenceLoop presence(database, services.presence);
  presence.start();
  billing.start();
  ads_loop.start();
  std::thread serving([&] { server.run(); });
  data.write("berthd.addr", listening.text() + "\n");
  const Address metrics_address = {.host = config.metrics_listen.host, .port = ops.port()};
  data.write("berthd.metrics.addr", metrics_address.text() + "\n");
  for (const std::string& key : config.without_effect)
    log::warning("this key has no effect in this version", {{"key", key}});
  if (is_simulated) log::info("the cluster is simulated: no container really runs");
  log::info("ready", {{"listen", listening.text()},
                      {"base_url", base_url},
                      {"metrics", metrics_address.text()},
                      {"version", api::version},
                      {"kubernetes", state_of(engine, is_simulated)},
                      {"instance", instance}});

  const int received = wait_for_signal();
  log::info("draining", {{"signal", received == SIGTERM ? "SIGTERM" : "SIGINT"}});
  backups.stop();
  const auto drained = server.shutdown(drain_grace);
  serving.join();
  if (mail) mail->stop();
  webhooks->stop();
  billing.stop();
  engine.stop();
  expiry.stop();
  presence.stop();
  ads_loop.stop();
  log::info("stopped", {{"drained", drained == api::Drained::all}});
}

int run(int argc, char** argv) {
  try {
    const CommandLine line = parse_command_line(argc, argv);
    if (line.version) {
      std::cout << "berthd " << api::version << "\n";
      return 0;
    }
    const LoadedConfig loaded = load_config(line.flags, [](const std::string& name) {
      const char* value = std::getenv(name.c_str());
      return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    });
    if (line.help) {
      std::cout << "usage: berthd [config] [--KEY VALUE]… [--config FILE]\n"
                   "       berthd backup FILE --passphrase-file FILE [--url URL] [--keep COUNT]\n"
                   "       berthd restore FILE --passphrase-file FILE [--data-dir DIR]\n"
                   "       berthd verify [FILE] [--passphrase-file FILE] [--data-dir DIR]\n\n"
                   "Every key can stand in the file, in a variable (BERTHD_LISTEN) or in a flag "
                   "(--listen);\n"
                   "with -file behind it, its value is read from a file.\n\n";
    }
    if (line.help || line.print_config) {
      print_settings(loaded.settings);
      return 0;
    }
    if (line.command != nullptr) return line.command(line.arguments, loaded.config);
    block_signals();
    log::setup(loaded.config.log_format, loaded.config.log_level);
    serve(loaded.config);
    return 0;
  } catch (const ConfigError& failure) {
    std::cerr << "berthd: " << failure.what() << "\n";
    return exit_config;
  } catch (const DataDirError& failure) {
    std::cerr << "berthd: " << failure.what() << "\n";
    return exit_data_dir;
  } catch (const SQLite::Exception& failure) {
    std::cerr << "berthd: the database: " << failure.what() << "\n";
    return exit_data_dir;
  } catch (const std::exception& failure) {
    std::cerr << "berthd: " << failure.what() << "\n";
    return EXIT_FAILURE;
  }
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  // glibc would raise the size from which memory goes back to the system at once, and each thread
  // that ever hashed a password would keep its 19 MiB (mallopt(3)).
  mallopt(M_MMAP_THRESHOLD, berth::large_block_bytes);
  return berth::run(argc, argv);
}
