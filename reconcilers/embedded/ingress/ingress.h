#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "controller/transport/server.h"
#include "reconcilers/embedded/ingress/access_log.h"
#include "reconcilers/embedded/ingress/caddy.h"
#include "reconcilers/embedded/ingress/route_files.h"
#include "reconcilers/embedded/ingress/routes.h"
#include "reconcilers/embedded/ingress/served_certificates.h"

namespace berth::embedded {

struct IngressOptions {
  std::filesystem::path directory;  // Caddy's own, which is made
  std::string program = "caddy";
  // Port 0: a free one is chosen, and kept in the directory.
  IngressAddress http = {};
  std::optional<IngressAddress> https = {};
  std::string acme_directory = {};
  std::string acme_ca_file = {};  // empty: the system's
};

// berthd's own address, which Caddy serves too.
struct ConsoleAddress {
  std::vector<std::string> hosts;
  std::string url;  // without a slash at its end
};

// The ingress controller of the embedded cluster: Caddy serves what the Ingresses say, and berthd's
// own address. Caddy and what it knows outlive this object. Thread-safe.
class Ingress {
 public:
  // The namespace, the Service and the name of its port.
  using ServicePort = std::tuple<std::string, std::string, std::string>;

  // Finds out what Caddy will listen on, and that it may. Nothing is started. Throws Unusable.
  explicit Ingress(IngressOptions options);
  // Caddy goes on.
  ~Ingress();
  Ingress(const Ingress&) = delete;
  Ingress& operator=(const Ingress&) = delete;

  // With the ports that Caddy listens on.
  const CaddySettings& settings() const { return settings_; }

  // Starts or finds Caddy, and keeps its routes as the store's objects say. `address_of` is called
  // with the store's mutex held. Both are used until stop(). Throws Unusable.
  void start(Store& store, AddressOf address_of, const ConsoleAddress& console);
  // Stops following the store. Has to be called before the store is destroyed, without its mutex.
  void stop();
  // An object has changed. The caller may hold the store's mutex. Before start() and after stop(),
  // nothing happens.
  void changed(const Key& key);
  // The node knows more about its containers than before.
  void look_at_all();

  // How it stands with the certificate of a host; see ServedCertificates::of().
  ServedCertificate certificate(const std::string& host, const std::string& order);

  // What was answered for each port of a Service that an Ingress names, whatever the host, since
  // this object was made.
  std::map<ServicePort, HostTraffic> traffic() const;
  // How many requests to each of these ports have gone on for longer than `time`, which has to be
  // longer than Caddy keeps idle connections to containers (open_connections.h).
  std::map<ServicePort, std::int64_t> requests_since(std::chrono::milliseconds time) const;
  // How many requests weren't counted.
  std::uint64_t lost_requests() const { return log_->lost(); }
  // How often Caddy was started again because it had ended; 0 before start().
  int restarts() const;

 private:
  struct Known {
    std::string name_space;
    Route route;
  };

  using SteadyClock = std::chrono::steady_clock;

  void run(const std::stop_token& stop);
  std::set<std::string> next_work(const std::stop_token& stop,
                                  std::optional<SteadyClock::time_point> until);
  std::set<std::string> all_namespaces() const;
  bool apply(const std::string& name_space);
  void apply_certified(const std::string& name_space,
                       const std::map<std::string, std::string>& hosts);
  void apply_host(const std::string& name_space, const std::string& host, const Route& route);
  void drop_host(const std::string& host);
  void remove_strangers();
  void answer(const api::Request& request, api::Response& response);

  IngressOptions options_;
  CaddySettings settings_;
  RouteFiles files_;
  std::unique_ptr<AccessLog> log_;
  std::unique_ptr<ServedCertificates> certificates_;
  std::unique_ptr<api::Server> questions_;
  std::jthread questions_thread_;
  std::unique_ptr<Caddy> caddy_;

  Store* store_ = nullptr;
  AddressOf address_of_;

  std::mutex mutex_;  // guards what is to be done; may be taken while the store's is held
  std::condition_variable_any changed_;
  bool follows_ = false;
  bool looks_at_all_ = false;
  std::set<std::string> dirty_;  // namespaces

  mutable std::mutex served_mutex_;     // guards what follows, and files_; taken before mutex_
  std::map<std::string, Known> hosts_;  // those that are served
  std::map<std::string, std::set<std::string>> waiting_;    // by host: namespaces that want it too
  std::map<std::string, std::set<std::string>> certified_;  // by namespace: hosts of Certificates
  std::set<std::string> secured_;
  std::jthread thread_;
};

}  // namespace berth::embedded
