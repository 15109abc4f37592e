#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "controller/base/address_range.h"
#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/base/log.h"
#include "controller/base/mail_text.h"
#include "controller/db/postgres/server.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/accounts/internal_secrets.h"
#include "controller/domain/ads/serving.h"
#include "controller/domain/deployments/isolation.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/ledger/rewards.h"
#include "reconcilers/cluster/unknown_size.h"

namespace berth {

// The configuration or the command line is wrong. Each problem is a sentence that names the key,
// its value (secrets masked), where the value came from, and what is allowed. berthd ends with exit
// code 2.
struct ConfigError : std::runtime_error {
  explicit ConfigError(const std::string& problem) : ConfigError(std::vector{problem}) {}
  explicit ConfigError(std::vector<std::string> all);
  std::vector<std::string> problems;  // one or more
};

struct Address {
  std::string host;
  int port = 0;
  std::string text() const;  // host:port, with brackets around an IPv6 address
};

// The server that mail is sent through.
struct MailServer {
  std::string url;  // smtp:// or smtps://, without user name and password
  std::string host;
  std::string user;
  std::string password;
};
enum class MailTlsRule {
  automatic,  // required, except on a loopback address
  required,
  if_offered,
};

constexpr auto texts_of(MailTlsRule) {
  return EnumTexts<MailTlsRule::if_offered>{"auto", "required", "if-offered"};
}

enum class Cluster {
  simulated,
  local,  // this machine alone, by podman and Caddy
  kubeconfig,
  in_cluster
};
constexpr auto texts_of(Cluster) {
  return EnumTexts<Cluster::in_cluster>{"simulated", "local", "kubeconfig", "in-cluster"};
}

// Everything that can be configured. It is filled from defaults, then a YAML file (--config), then
// BERTHD_* variables, then flags; a later source overrides an earlier one. If a key's name is
// followed by `-file` (`_FILE` for variables), the value is read from that file. config_keys.cpp
// has the table of keys.
struct Config {
  Address listen;
  Address metrics_listen;
  // Where the internal secret is accepted; on `listen` if this is empty.
  std::optional<Address> internal_listen;
  std::optional<std::string> base_url;
  std::filesystem::path data_dir;
  std::filesystem::path client_files;  // the client's archives; empty: there are none
  // Where data_dir gets its keys.json from if it has none; empty if it makes its own.
  std::filesystem::path keys_file;
  // The PostgreSQL server of the database; if empty, the database is a SQLite file in data_dir.
  std::optional<db::postgres::Server> database;
  bool backup_before_upgrade = true;
  bool production = false;
  bool allow_remote = false;
  bool first_account_admin = false;  // only in development, on a loopback address
  std::optional<std::string> internal_secret;
  std::vector<internal_secrets::Configured> internal_secrets;  // beside it, with names

  Cluster kubernetes = Cluster::simulated;
  bool simulated_builds = false;
  int simulated_speed = 1;  // how many times as fast as usual time passes on the simulated cluster
  std::optional<std::filesystem::path> kubeconfig;
  std::string context;
  std::optional<std::string> lease_namespace;
  std::string apps_domain;
  std::vector<std::string> registries;
  std::string ingress_class;
  std::optional<std::string> wildcard_tls_secret;
  std::optional<std::string> cluster_issuer;
  std::vector<std::string> dns_servers;
  int reconcile_workers = 0;

  // Where the ingress controller is, for the containers' network policies.
  std::string ingress_namespace;
  std::vector<AddressRange> ingress_ranges;
  std::vector<int> ingress_ports;
  // Where operators' containers run, and with which priority.
  std::map<std::string, std::string> tenant_node_selector;
  nlohmann::json tenant_tolerations;  // a list of tolerations
  std::optional<std::string> tenant_priority_class;
  // The ClusterRole that berthd gives its own ServiceAccount in each app's namespace.
  std::optional<std::string> tenant_role;
  std::optional<std::string> service_account;  // namespace/name
  // The ServiceAccount that opens sessions in containers, as namespace/name.
  std::optional<std::string> exec_service_account;
  std::uint64_t max_image_bytes = 0;  // 0: images may have any size
  reconcilers::UnknownSize unknown_image_size = reconcilers::UnknownSize::pull;
  // Builds of images from source.
  std::uint64_t max_source_bytes = 0;
  Duration build_timeout{0};
  std::uint64_t build_memory_bytes = 0;
  std::uint64_t build_storage_bytes = 0;
  int builds_at_once = 1;
  std::string traefik_metrics_url;  // empty if there is none
  Duration scale_down_after{0};     // how long the autoscaler waits before it removes containers

  // Where Caddy serves apps and berthd's own address, if kubernetes is local. An empty host means
  // all addresses of the machine.
  std::optional<Address> ingress_http;   // empty: see ingress_http_address()
  std::optional<Address> ingress_https;  // empty: see ingress_https_address()
  std::string acme_directory;
  std::string acme_ca_file;  // empty: the system's certificate authorities

  // The isolation probe (reconcilers/cluster/isolation_probe.h).
  isolation::Mode isolation = isolation::Mode::warn;
  std::string isolation_image;     // empty: there is nothing to probe with
  std::string isolation_internet;  // an address; empty: nothing outside is tried

  std::optional<MailServer> mail_server;
  std::optional<Mailbox> mail_from;
  MailTlsRule mail_tls = MailTlsRule::automatic;
  std::string mail_ca_file;

  bool webhook_allow_private = false;
  std::vector<AddressRange> cluster_ranges;

  bool rate_limits = true;
  std::vector<AddressRange> trusted_proxies;
  Duration session_lifetime{};
  // For logins on the hosted pages; if empty, they don't end when idle.
  std::optional<Duration> session_idle_timeout;
  std::optional<Duration> jwt_idle_timeout;  // for logins through the API
  Duration refresh_reuse_grace{};
  Duration refresh_family_lifetime{};
  Duration secret_grace{};
  std::int64_t treasury_genesis = 0;
  std::int64_t refund_two_admins_above = 0;
  std::int64_t support_refund_limit = 0;
  std::vector<tiers::Tier> tiers;
  ReservedNames reserved_names;
  bool password_blocklist = true;
  accounts::SignupBonus signup_bonus;
  rewards::Rules reward_rules;
  ads::Rules ad_rules;

  int http_threads = 0;
  int max_connections = 0;
  std::optional<int> max_connections_per_network;  // empty: see connection_limits()
  int max_body_bytes = 0;
  Duration request_timeout{};
  log::Format log_format = log::Format::json;
  log::Level log_level = log::Level::info;

  // Keys that were set although this version ignores them. berthd logs them at the start.
  std::vector<std::string> without_effect;
};

// Where Caddy listens. In development it is a port of loopback that everybody may use; production
// serves visitors on the usual ports.
Address ingress_http_address(const Config& config);
// Nothing if base-url isn't an https URL.
std::optional<Address> ingress_https_address(const Config& config);
// Everything about containers that berthd keeps on this machine, if kubernetes is local, is below
// this directory.
std::filesystem::path local_directory(const Config& config);

// The value of one key, for `berthd config` and `berthd --help`.
struct Setting {
  std::string key;
  std::string value;   // as text; secrets are masked
  std::string source;  // "default", a file and a line, or the name of a variable or a flag
  std::string meaning;
};

struct LoadedConfig {
  Config config;
  std::vector<Setting> settings;  // in the order of the table of keys
};

// The variables whose names begin with BERTHD_, by name.
using Environment = std::map<std::string, std::string>;
// Returns the variables of this process whose names begin with BERTHD_.
Environment process_environment();

// Returns the names of all flags, without dashes: every key, and every key with `-file`.
std::vector<std::string> flag_names();
// `flags` are those of the command line, including names that don't exist. Throws ConfigError with
// everything that is wrong.
LoadedConfig load_config(const std::map<std::string, std::string>& flags,
                         const Environment& environment);

}  // namespace berth
