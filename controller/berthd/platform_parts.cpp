#include "controller/berthd/platform_parts.h"

#include <algorithm>

#include "api/gate/client_address.h"
#include "api/gate/errors.h"
#include "controller/base/crypto.h"
#include "controller/base/log.h"
#include "controller/base/url.h"
#include "controller/berthd/cluster_access.h"

namespace berth {
namespace {

// The most requests that the internal listener handles at the same time.
constexpr size_t internal_threads = 16;

// Returns nothing for the simulated cluster, which no other process can use, so that there is no
// leader to elect.
std::optional<std::string> lease_namespace(const Config& config) {
  if (config.kubernetes == Cluster::simulated) return std::nullopt;
  if (config.lease_namespace) return config.lease_namespace;
  if (config.kubernetes == Cluster::kubeconfig) return "default";
  return or_end_with(exit_cluster_access, "kubernetes",
                     [] { return kube::in_cluster_namespace(); });
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

api::Response refusal(int status, std::string_view detail) {
  api::Response response;
  response.status = status;
  response.content_type = "application/json";
  response.body = api::framework_body(detail);
  return response;
}

std::optional<manifests::TenantRole> tenant_role(const Config& config) {
  if (!config.tenant_role) return std::nullopt;
  const std::string& account = config.service_account.value();
  const size_t slash = account.find('/');
  return manifests::TenantRole{.role = *config.tenant_role,
                               .account_namespace = account.substr(0, slash),
                               .account = account.substr(slash + 1)};
}

// A trusted proxy's address, and in development a loopback address, stands for many callers.
api::ConnectionLimits connection_limits(const Config& config) {
  api::ConnectionLimits limits = {.total = size_t(config.max_connections),
                                  .shared_addresses = config.trusted_proxies};
  const size_t quarter = std::max<size_t>(limits.total / 4, 1);
  limits.of_network = size_t(config.max_connections_per_network.value_or(int(quarter)));
  if (!config.production && !config.max_connections_per_network)
    for (const char* loopback : {"127.0.0.0/8", "::1"})
      limits.shared_addresses.push_back(parse_address_range(loopback).value());
  return limits;
}

// The requests that even an overloaded server answers: those for /health, and those with the
// internal secret, if it isn't empty. A request for /health with a body isn't one of them, because
// bodies can be slow.
api::IsEssential essential_requests(const std::string& internal_secret) {
  return [secret =
              internal_secret.empty() ? "" : sha256(internal_secret)](const api::Request& request) {
    if (request.path == "/health")
      return request.headers.count("Content-Length") == 0 &&
             request.headers.count("Transfer-Encoding") == 0;
    const auto shown = request.headers.find("x-internal-secret");
    return shown && !secret.empty() && equal_in_constant_time(sha256(*shown), secret);
  };
}

}  // namespace

std::unique_ptr<simulated::Cluster> simulated_cluster(const Config& config) {
  if (config.kubernetes != Cluster::simulated) return nullptr;
  simulated::Options options;
  options.remembers = false;
  return std::make_unique<simulated::Cluster>(options);
}

kube::Kubeconfig cluster_access(const Config& config, const simulated::Cluster* simulated) {
  if (simulated != nullptr) {
    kube::Kubeconfig access;
    access.server = simulated->url();
    return access;
  }
  return cluster_access(config);
}

manifests::Settings manifest_settings(const Config& config, const std::string& instance) {
  return {.instance = instance,
          .apps_domain = config.apps_domain,
          .ingress_class = config.ingress_class,
          .wildcard_tls_secret = config.wildcard_tls_secret,
          .cluster_issuer = config.cluster_issuer,
          .ingress_controller = {.name_space = config.ingress_namespace,
                                 .ranges = config.ingress_ranges,
                                 .ports = config.ingress_ports},
          .cluster_ranges = config.cluster_ranges,
          .node_selector = config.tenant_node_selector,
          .tolerations = config.tenant_tolerations,
          .priority_class = config.tenant_priority_class,
          .tenant_role = tenant_role(config)};
}

reconcilers::Engine::Parts engine_parts(const Config& config, const simulated::Cluster* simulated,
                                        db::Database& database, const Keys& keys,
                                        const std::string& instance,
                                        std::shared_ptr<prometheus::Registry> registry,
                                        std::function<std::string()> why_new_ones_wait) {
  return {.database = database,
          .cluster = cluster_access(config, simulated),
          .client = {},
          .settings = manifest_settings(config, instance),
          .data_key = keys.data,
          .registry = std::move(registry),
          .lease_namespace = lease_namespace(config),
          .why_new_ones_wait = std::move(why_new_ones_wait)};
}

api::ServerOptions server_options(const Config& config, const std::string& internal_secret) {
  return {.host = config.listen.host,
          .port = config.listen.port,
          .http_threads = size_t(config.http_threads),
          .connections = connection_limits(config),
          .max_body_bytes = size_t(config.max_body_bytes),
          .request_timeout = config.request_timeout,
          .render_refusal = refusal,
          .headers = common_headers(config),
          .client_address =
              [proxies = config.trusted_proxies](const api::Request& request) {
                return api::client_address(request, proxies);
              },
          .is_essential = essential_requests(internal_secret)};
}

api::ServerOptions internal_server_options(const Config& config,
                                           const std::string& internal_secret) {
  api::ServerOptions options = server_options(config, internal_secret);
  options.host = config.internal_listen->host;
  options.port = config.internal_listen->port;
  options.http_threads = std::min(options.http_threads, internal_threads);
  return options;
}

api::Fields common_headers(const Config& config) {
  api::Fields headers = {{"X-Content-Type-Options", "nosniff"}};
  // One year, as browsers' preload lists require. includeSubDomains is left out, because hosts
  // below berth's own may belong to others.
  if (config.base_url && config.base_url->starts_with("https://"))
    headers.emplace_back("Strict-Transport-Security", "max-age=31536000");
  return headers;
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
                                      .closed = config.cluster_ranges,
                                      .url_of = services.url_of,
                                      .apps_domain = config.apps_domain,
                                      .registry = std::move(registry)});
}

}  // namespace berth
