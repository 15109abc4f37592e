#include "berthd/listeners.h"

#include <algorithm>

#include "api/gate/client_address.h"
#include "api/gate/errors.h"
#include "berthd/exit_codes.h"
#include "berthd/probe_budget.h"
#include "controller/base/crypto.h"
#include "controller/transport/socket.h"

namespace berth {
namespace {

constexpr std::chrono::seconds drain_grace{
    20};  // less than Kubernetes' 30 s between SIGTERM and SIGKILL

// The most requests that the internal listener handles at the same time.
constexpr size_t internal_threads = 16;

constexpr std::string_view secret_header = "x-internal-secret";

api::Response refusal(int status, std::string_view detail) {
  api::Response response;
  response.status = status;
  response.content_type = "application/json";
  response.body = api::framework_body(detail);
  return response;
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

// The internal secrets of the configuration.
std::vector<std::string> secrets_of(const Config& config, const std::string& internal_secret) {
  std::vector<std::string> secrets;
  if (!internal_secret.empty()) secrets.push_back(internal_secret);
  for (const internal_secrets::Configured& named : config.internal_secrets)
    secrets.push_back(named.secret);
  return secrets;
}

// Those that the public listeners take: none if there is one for them.
std::vector<std::string> public_secrets(const Config& config, const std::string& internal_secret) {
  return config.internal_listen ? std::vector<std::string>() : secrets_of(config, internal_secret);
}

// The requests that even an overloaded server answers: some for /health, and those with one of
// these internal secrets. Those that admins made aren't among them, because only the database knows
// them. A request for /health with a body isn't one of them, because bodies can be slow.
api::IsEssential essential_requests(const Config& config,
                                    const std::vector<std::string>& internal_secrets) {
  std::vector<std::string> hashes;
  hashes.reserve(internal_secrets.size());
  for (const std::string& secret : internal_secrets) hashes.push_back(sha256(secret));
  return [hashes, proxies = config.trusted_proxies,
          probes = std::make_shared<ProbeBudget>()](const api::Request& request) {
    if (request.path == "/health")
      return request.headers.count("Content-Length") == 0 &&
             request.headers.count("Transfer-Encoding") == 0 &&
             probes->take(api::client_address(request, proxies), std::chrono::steady_clock::now());
    const auto shown = request.headers.find(secret_header);
    if (!shown || hashes.empty()) return false;
    const std::string hash = sha256(*shown);
    return std::ranges::any_of(
        hashes, [&](const std::string& secret) { return equal_in_constant_time(hash, secret); });
  };
}

// `secrets` is empty if the listener takes no internal secret.
api::ServerOptions server_options(const Config& config, const std::vector<std::string>& secrets,
                                  const api::PlaceOfBody& place_of_body) {
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
          .is_essential = essential_requests(config, secrets),
          .place_of_body = place_of_body};
}

std::unique_ptr<api::Server> internal_server(const Config& config,
                                             const std::vector<std::string>& secrets,
                                             const api::Handler& handler,
                                             const api::PlaceOfBody& place_of_body) {
  if (!config.internal_listen) return nullptr;
  api::ServerOptions options = server_options(config, secrets, place_of_body);
  options.host = config.internal_listen->host;
  options.port = config.internal_listen->port;
  options.http_threads = std::min(options.http_threads, internal_threads);
  return std::make_unique<api::Server>(std::move(options), handler);
}

// Caddy's connections stand for many callers, so that only the total is limited.
std::unique_ptr<api::Server> ingress_server(const Config& config,
                                            const std::vector<std::string>& secrets,
                                            const api::Handler& handler,
                                            const api::PlaceOfBody& place_of_body,
                                            const std::string& socket) {
  if (socket.empty()) return nullptr;
  api::ServerOptions options = server_options(config, secrets, place_of_body);
  options.host = std::string(api::unix_prefix) + socket;
  return std::make_unique<api::Server>(std::move(options), handler);
}

// Returns the request without the internal secret.
api::Request without_secret(const api::Request& request) {
  api::Request plain = request;
  plain.headers.clear();
  for (const auto& field : request.headers)
    if (!api::same_name(field.name, secret_header)) plain.headers.add(field.name, field.value);
  return plain;
}

// Passes requests on without the internal secret.
api::Handler without_secrets(const api::Handler& handler) {
  return [handler](const api::Request& request, api::Response& response) {
    if (request.headers.count(secret_header) > 0)
      handler(without_secret(request), response);
    else
      handler(request, response);
  };
}

Address bound(api::Server& server, const Address& wanted) {
  return {.host = wanted.host,
          .port = or_end_with(exit_address, "listen", [&] { return server.bind(); })};
}

}  // namespace

Listeners::Listeners(const Config& config, const std::string& internal_secret,
                     const api::Handler& handler, const api::PlaceOfBody& place_of_body,
                     const std::string& ingress_socket)
    : public_(server_options(config, public_secrets(config, internal_secret), place_of_body),
              config.internal_listen ? without_secrets(handler) : handler),
      internal_(
          internal_server(config, secrets_of(config, internal_secret), handler, place_of_body)),
      ingress_(ingress_server(config, public_secrets(config, internal_secret),
                              config.internal_listen ? without_secrets(handler) : handler,
                              place_of_body, ingress_socket)) {
  addresses_.push_back(bound(public_, config.listen));
  if (internal_) addresses_.push_back(bound(*internal_, *config.internal_listen));
  if (ingress_) or_end_with(exit_address, "ingress", [&] { return ingress_->bind(); });
}

void Listeners::start() {
  threads_.emplace_back([this] { public_.run(); });
  if (internal_) threads_.emplace_back([this] { internal_->run(); });
  if (ingress_) threads_.emplace_back([this] { ingress_->run(); });
}

api::Drained Listeners::stop() {
  api::Drained through_ingress = api::Drained::all;
  api::Drained drained = api::Drained::all;
  {
    const std::jthread internal([this] {
      if (internal_) internal_->shutdown(drain_grace);
    });
    const std::jthread ingress([&] {
      if (ingress_) through_ingress = ingress_->shutdown(drain_grace);
    });
    drained = public_.shutdown(drain_grace);
  }
  threads_.clear();
  return through_ingress == api::Drained::all ? drained : through_ingress;
}

api::ServerCounters Listeners::counters() const {
  api::ServerCounters sum = public_.counters();
  if (!ingress_) return sum;
  const api::ServerCounters more = ingress_->counters();
  sum.open_connections += more.open_connections;
  sum.running_handlers += more.running_handlers;
  sum.open_streams += more.open_streams;
  sum.refused_connections += more.refused_connections;
  sum.displaced_connections += more.displaced_connections;
  sum.refused_requests += more.refused_requests;
  return sum;
}

std::size_t Listeners::running_handlers() const {
  const auto running = [](const api::ServerCounters& counters) {
    return counters.running_handlers + counters.upgraded_connections;
  };
  return running(public_.counters()) + (internal_ ? running(internal_->counters()) : 0) +
         (ingress_ ? running(ingress_->counters()) : 0);
}

api::Fields common_headers(const Config& config) {
  api::Fields headers = {{"X-Content-Type-Options", "nosniff"}};
  // One year, as browsers' preload lists require. includeSubDomains is left out, because hosts
  // below berth's own may belong to others.
  if (config.base_url && config.base_url->starts_with("https://"))
    headers.emplace_back("Strict-Transport-Security", "max-age=31536000");
  return headers;
}

}  // namespace berth
