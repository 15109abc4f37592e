#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berthd/config.h"
#include "berthd/dir_lock.h"
#include "berthd/storage.h"
#include "reconcilers/cluster/traefik_metrics.h"
#include "reconcilers/embedded/cluster.h"
#include "reconcilers/embedded/ingress/ingress.h"

// What berthd does if kubernetes is local: containers run on this machine, by podman, and Caddy
// serves them. Containers, podman's service and Caddy go on when berthd ends, and are found again.
namespace berth {

// Why this machine can't run containers at all, as one sentence with what helps.
std::string words_of(const embedded::Finding& finding);

class LocalMachine {
 public:
  // Looks at the machine, finds or starts podman's service, and takes over what runs. Throws
  // StartError, after which nothing of it runs that didn't before.
  LocalMachine(const Config& config, Storage& storage);
  // Containers, podman's service and Caddy go on.
  ~LocalMachine();

  embedded::Cluster& cluster() { return *cluster_; }
  // The bearer token of the cluster's API.
  const std::string& token() const { return token_; }

  // Starts or finds Caddy, which serves berthd's own pages too. Throws StartError.
  void serve();
  // Follows the cluster no longer. Caddy goes on serving what it knows.
  void stop_serving();

  // Where Caddy passes requests for berthd's own pages on to.
  std::string console_socket() const { return ingress_.settings().console_socket(); }
  // The URL by which visitors reach a host of this machine.
  std::string url_of(const std::string& host) const;
  // An image of this program (embedded::podman::program_image). May take seconds, and throw.
  std::string program_image() const;
  // What Caddy has answered.
  reconcilers::TrafficOfServices traffic() const;
  // How many requests to each service have gone on for longer than reconcilers::long_request.
  std::map<std::string, std::int64_t, std::less<>> long_requests() const;
  // What this machine can't do as it should, as sentences.
  std::vector<std::string> findings() const;

 private:
  void write_kubeconfig(const DataDir& data) const;

  const Config& config_;
  // Keeps `berthd local clean` out.
  const DirLock lock_;
  const std::string token_;
  embedded::Ingress ingress_;
  std::unique_ptr<embedded::Cluster> cluster_;
};

}  // namespace berth
