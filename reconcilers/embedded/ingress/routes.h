#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/embedded/apiserver/store.h"
namespace berth::embedded {

// Where requests for a host name go.
struct Route {
  // Where the containers of the ready pods are reached from this machine, such as
  // `127.0.0.1:34567`, those of the newest pods first; at most max_upstreams. A pod that is being
  // deleted is none of them, although its container goes on for a while.
  std::vector<std::string> upstreams;
  // There is a ready pod of which it isn't known (yet) where it is reached, because the node
  // doesn't know its container yet.
  bool is_unsettled = false;
  std::string name_space;
  std::string service;  // the Service's name, and the name of its port
  std::string port;

  bool operator==(const Route&) const = default;
};
// One machine has no use for more containers of a process than this. If there are more, the oldest
// get no requests.
inline constexpr size_t max_upstreams = 16;
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
