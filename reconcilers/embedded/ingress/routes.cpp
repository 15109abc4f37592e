#include "reconcilers/embedded/ingress/routes.h"

#include <algorithm>
#include <functional>

#include "controller/base/text.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/apiserver/conditions.h"
#include "reconcilers/embedded/apiserver/selectors.h"

namespace berth::embedded {
namespace {

// A port of a Service: its name, and what its targetPort says.
struct ServicePort {
  std::string name;
  std::string target;
};

std::optional<ServicePort> port_of(const Json& service, const Json& wanted) {
  for (const Json& port : at_path(service, "/spec/ports")) {
    const bool by_number = wanted.contains("number") && at_path(port, "/port") == wanted["number"];
    const bool by_name = wanted.contains("name") && at_path(port, "/name") == wanted["name"];
    if (!by_number && !by_name) continue;
    const Json& target = at_path(port, "/targetPort");
    return ServicePort{.name = text_at(port, "name"),
                       .target = target.is_string() ? target.get<std::string>() : target.dump()};
  }
  return std::nullopt;
}

bool is_selected(const Stored& pod, const Json& selector) {
  return !pod.terminating && !pod.labels.empty() &&
         label_selector_matches({{"matchLabels", selector}}, Json::parse(pod.labels));
}

// By what pods are ordered: when they were created, and for those of the same second their names.
std::pair<std::string, std::string> age_of(const ObjectPtr& pod) {
  return {text_at(at_path(*pod, "/metadata"), "creationTimestamp"), name_of(*pod)};
}

// The ready pods that the Service selects, the newest first.
std::vector<ObjectPtr> ready_pods(const Store& store, const std::string& name_space,
                                  const Json& service) {
  const Json& selector = at_path(service, "/spec/selector");
  if (!selector.is_object() || selector.empty()) return {};
  std::vector<ObjectPtr> ready;
  for (const auto& [key, stored] : store.list_stored(Kind::pods, name_space)) {
    if (!is_selected(*stored, selector)) continue;
    if (ObjectPtr pod = store.find(key); is_true(*pod, "Ready")) ready.push_back(std::move(pod));
  }
  std::ranges::sort(ready, std::greater(), age_of);
  return ready;
}

// The number of the port. A targetPort that is a name is that of a container's port.
std::optional<int> number_of(const Json& pod, const std::string& wanted) {
  if (const auto number = parse_number<int>(wanted)) return number;
  for (const Json& container : at_path(pod, "/spec/containers"))
    for (const Json& port : at_path(container, "/ports"))
      if (text_at(port, "name") == wanted) return int(number_at(port, "/containerPort", 0));
  return std::nullopt;
}

Route route_of(const Store& store, const std::string& name_space, const Json& backend,
               const AddressOf& address_of) {
  Route route;
  route.name_space = name_space;
  route.service = text_at(backend, "name");
  const ObjectPtr service = store.find({Kind::services, name_space, route.service});
  if (!service) return route;
  const auto port = port_of(*service, at_path(backend, "/port"));
  if (!port) return route;
  route.port = port->name;
  for (const ObjectPtr& pod : ready_pods(store, name_space, *service)) {
    const auto number = number_of(*pod, port->target);
    if (!number) continue;
    const auto address = address_of(*pod, *number);
    if (!address)
      route.is_unsettled = true;
    else if (route.upstreams.size() < max_upstreams)
      route.upstreams.push_back(*address);
  }
  return route;
}

}  // namespace

Routes routes_of(const Store& store, const std::string& name_space, const AddressOf& address_of) {
  Routes routes;
  for (const auto& [key, stored] : store.list_stored(Kind::ingresses, name_space)) {
    if (stored->terminating) continue;
    const ObjectPtr ingress = store.find(key);
    for (const Json& rule : at_path(*ingress, "/spec/rules")) {
      const std::string host = text_at(rule, "host");
      const Json& paths = at_path(rule, "/http/paths");
      if (!is_host_name(host) || !paths.is_array() || paths.empty() || routes.contains(host))
        continue;
      routes.emplace(host, route_of(store, key.name_space,
                                    at_path(paths.front(), "/backend/service"), address_of));
    }
  }
  return routes;
}

std::map<std::string, std::string> certified_hosts(const Store& store,
                                                   const std::string& name_space) {
  std::map<std::string, std::string> hosts;
  for (const auto& [key, stored] : store.list_stored(Kind::certificates, name_space)) {
    if (stored->terminating) continue;
    const ObjectPtr certificate = store.find(key);
    for (const Json& host : at_path(*certificate, "/spec/dnsNames"))
      if (host.is_string() && is_host_name(host.get_ref<const std::string&>()))
        hosts.emplace(host.get<std::string>(), uid_of(*certificate));
  }
  return hosts;
}

}  // namespace berth::embedded
