#include "berthd/ops_server.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "berthd/exit_codes.h"
#include "berthd/metric_family.h"
#include "controller/transport/server.h"

namespace berth {
namespace {

// Prometheus and the kubelet each need one connection. The others are a reserve in case somebody
// opens many.
constexpr std::size_t max_connections = 64;
constexpr std::size_t max_connections_of_network = 32;
// Nobody sends a body, and the head of a probe is small.
constexpr std::size_t max_body_bytes = 1024;
constexpr std::size_t max_header_bytes = 8 * 1024;
// Both sides are in the same cluster.
constexpr std::chrono::seconds request_timeout{5};
constexpr std::chrono::seconds write_timeout{10};

std::string text_of(const std::vector<Check>& checks) {
  std::string text;
  for (const Check& check : checks)
    text += (check.ok ? "[+]" : "[-]") + check.name + (check.ok ? " ok" : " failed") +
            (check.detail.empty() ? "" : ": " + check.detail) + "\n";
  return text;
}

bool is_ready(const std::vector<Check>& checks) {
  return std::ranges::all_of(checks, [](const Check& check) { return check.ok || !check.decides; });
}

api::ServerOptions options(const Address& address, api::Fields headers) {
  return {.host = address.host,
          .port = address.port,
          // There is a thread for each connection, so that /livez never waits for a slow /metrics.
          .http_threads = max_connections + api::ConnectionTable::reserved,
          // Probes are short, so a new connection may displace one that waits.
          .connections = {.total = max_connections,
                          .of_network = max_connections_of_network,
                          .shared_addresses = {},
                          .patience = std::chrono::milliseconds(0),
                          .silent_patience = std::chrono::milliseconds(0)},
          .max_body_bytes = max_body_bytes,
          .max_header_bytes = max_header_bytes,
          .request_timeout = request_timeout,
          .write_timeout = write_timeout,
          .headers = std::move(headers)};
}

}  // namespace

class OpsServer::State {
 public:
  State(const Address& address, api::Fields headers, prometheus::Registry& registry,
        std::shared_ptr<prometheus::Collectable> more,
        std::function<std::vector<Check>()> readiness)
      : registry_(registry),
        more_(std::move(more)),
        readiness_(std::move(readiness)),
        server_(options(address, std::move(headers)),
                [this](const api::Request& request, api::Response& response) {
                  answer(request, response);
                }),
        port_(bind()),
        thread_([this] { server_.run(); }) {}

  ~State() {
    server_.shutdown(std::chrono::seconds(0));
    thread_.join();
  }

  int port() const { return port_; }

 private:
  int bind() try { return server_.bind(); } catch (const std::runtime_error& failure) {
    throw StartError(exit_address, std::string("metrics-listen: ") + failure.what());
  }

  void answer(const api::Request& request, api::Response& response) {
    using Page = void (State::*)(api::Response&);
    const Page page = request.path == "/metrics"  ? &State::metrics
                      : request.path == "/livez"  ? &State::livez
                      : request.path == "/readyz" ? &State::readyz
                                                  : nullptr;
    response.content_type = "text/plain";
    if (page == nullptr) {
      response.status = 404;
      response.body = "only /metrics, /livez and /readyz are served here\n";
    } else if (request.method != "GET" && request.method != "HEAD") {
      response.status = 405;
      response.add_header("Allow", "GET, HEAD");
      response.body = "only GET and HEAD are supported here\n";
    } else {
      (this->*page)(response);
    }
  }

  void metrics(api::Response& response) {
    // Requests for metrics are answered one at a time, because each reads the database.
    const std::lock_guard lock(scrape_);
    auto families = registry_.Collect();
    for (auto& family : more_->Collect()) families.push_back(std::move(family));
    families.push_back(gauges("berth_ready", "1 while /readyz answers 200.",
                              {gauge(is_ready(readiness_()) ? 1 : 0)}));
    response.content_type = "text/plain; version=0.0.4";
    response.body = prometheus::TextSerializer().Serialize(families);
  }

  void livez(api::Response& response) { response.body = "ok\n"; }

  void readyz(api::Response& response) {
    const auto checks = readiness_();
    if (!is_ready(checks)) response.status = 503;
    response.body = text_of(checks);
  }

  prometheus::Registry& registry_;
  const std::shared_ptr<prometheus::Collectable> more_;
  const std::function<std::vector<Check>()> readiness_;
  std::mutex scrape_;
  api::Server server_;
  const int port_;
  std::thread thread_;
};

OpsServer::OpsServer(const Address& address, api::Fields headers, prometheus::Registry& registry,
                     std::shared_ptr<prometheus::Collectable> more,
                     std::function<std::vector<Check>()> readiness)
    : state_(std::make_unique<State>(address, std::move(headers), registry, std::move(more),
                                     std::move(readiness))) {}

OpsServer::~OpsServer() = default;

int OpsServer::port() const { return state_->port(); }

}  // namespace berth
