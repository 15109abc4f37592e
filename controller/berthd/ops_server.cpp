#include "controller/berthd/ops_server.h"

#include <httplib.h>
#include <prometheus/text_serializer.h>

#include <thread>

namespace berth {
namespace {

constexpr size_t threads = 4;  // a scraper and a kubelet

std::string text_of(const std::vector<Check>& checks) {
  std::string text;
  for (const Check& check : checks)
    text += (check.ok ? "[+]" : "[-]") + check.name + (check.ok ? " ok" : " failed") +
            (check.detail.empty() ? "" : ": " + check.detail) + "\n";
  return text;
}

}  // namespace

struct OpsServer::State {
  httplib::Server server;
  std::thread thread;
  int port = 0;
};

OpsServer::OpsServer(const Address& address, prometheus::Registry& registry,
                     std::shared_ptr<prometheus::Collectable> more,
                     std::function<std::vector<Check>()> readiness)
    : state_(std::make_unique<State>()) {
  httplib::Server& server = state_->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(threads); };  // httplib deletes it
  server.Get("/metrics", [&registry, more](const httplib::Request&, httplib::Response& response) {
    auto families = registry.Collect();
    for (auto& family : more->Collect()) families.push_back(std::move(family));
    response.set_content(prometheus::TextSerializer().Serialize(families),
                         "text/plain; version=0.0.4");
  });
  server.Get("/livez", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("ok\n", "text/plain");
  });
  server.Get("/readyz", [readiness = std::move(readiness)](const httplib::Request&,
                                                           httplib::Response& response) {
    const auto checks = readiness();
    for (const Check& check : checks)
      if (check.decides && !check.ok) response.status = 503;
    response.set_content(text_of(checks), "text/plain");
  });
  state_->port = address.port;
  if (address.port == 0)
    state_->port = server.bind_to_any_port(address.host);
  else if (!server.bind_to_port(address.host, address.port))
    state_->port = -1;
  if (state_->port < 0)
    throw std::runtime_error("metrics-listen: can't listen on " + address.text());
  state_->thread = std::thread([this] { state_->server.listen_after_bind(); });
}

OpsServer::~OpsServer() {
  while (!state_->server.is_running()) std::this_thread::yield();
  state_->server.stop();
  state_->thread.join();
}

int OpsServer::port() const { return state_->port; }

}  // namespace berth
