#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "reconcilers/embedded/apiserver/store.h"
namespace berth::embedded {

// Where requests for a host name go.
struct Route {
  // Where the container is reached from this machine, such as `127.0.0.1:34567`; empty if no pod
  // is ready. A deployment of berth's has one pod, or two during a rollout; the newest one gets
  // the requests.
  std::string upstream;
  // A pod is ready, but where it is reached isn't known (yet), because the node doesn't know its
  // container yet.
  bool is_unsettled = false;
  std::string name_space;
  std::string service;  // the Service's name, and the name of its port
  std::string port;

  bool operator==(const Route&) const = default;
};
using Routes = std::map<std::string, Route>;  // by host name, in lower case

// Where a port of a pod is reached from this machine, such as `127.0.0.1:34567`; nothing if the
// node doesn't know (yet).
using AddressOf = std::function<std::optional<std::string>(const Json& pod, int port)>;

// Follows the Ingresses of a namespace to their Services and to ready pods. Only host names that
// are written out count, and only the first path of each: berth makes no others. If two Ingresses
// have the same host, the first one by name serves it. The caller must hold the store's mutex.
Routes routes_of(const Store& store, const std::string& name_space, const AddressOf& address_of);

// The host names of the Certificates of a namespace that aren't being deleted, with the uid of the
// Certificate. The caller must hold the store's mutex.
std::map<std::string, std::string> certified_hosts(const Store& store,
                                                   const std::string& name_space);

}  // namespace berth::embedded
