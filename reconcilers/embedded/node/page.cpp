#include "reconcilers/embedded/node/page.h"

#include <algorithm>

#include "controller/base/ascii.h"
#include "reconcilers/embedded/apiserver/conditions.h"
#include "reconcilers/embedded/apiserver/selectors.h"

namespace berth::embedded {
namespace {

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string document(const std::string& title, const std::string& content) {
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width\"><title>" +
         escaped(title) +
         "</title><style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem "
         "auto;padding:0 1rem}"
         "dt{font-weight:600}dd{margin:0 0 .6rem;font-family:monospace;overflow-wrap:anywhere}"
         ".note{border-left:4px solid #c80;padding:.5rem "
         "1rem;background:#fff8e6;color:#333}</style></head><body>"
         "<h1>" +
         escaped(title) + "</h1>" + content +
         "<p class=\"note\">This Kubernetes cluster is simulated: no container runs, and this page "
         "is not the "
         "app's own answer.</p></body></html>\n";
}

std::string row(const char* name, const std::string& value) {
  return std::string("<dt>") + name + "</dt><dd>" + escaped(value) + "</dd>";
}

std::string host_name(const std::string& host) {
  return lower_case(std::string_view(host).substr(0, host.find(':')));
}

// `*.example.com` stands for exactly one more label (Ingress, "Hostname wildcards").
bool host_matches(const std::string& rule, const std::string& host) {
  if (!rule.starts_with("*.")) return rule == host;
  const size_t dot = host.find('.');
  return dot != std::string::npos && host.substr(dot) == rule.substr(1);
}

struct Route {
  ObjectPtr ingress;
  Json backend;  // the backend of the rule's first path
};

std::optional<Route> route_of(const Store& store, const std::string& host) {
  for (const auto& [key, stored] : store.list_stored(Kind::ingresses, "")) {
    // Finding the host in the text first spares parsing nearly all Ingresses.
    if (stored->members.find("\"host\":\"" + host + '"') == std::string::npos &&
        stored->members.find("\"host\":\"*.") == std::string::npos)
      continue;
    const ObjectPtr ingress = store.find(key);
    for (const Json& rule : at_path(*ingress, "/spec/rules"))
      if (host_matches(text_at(rule, "host"), host))
        for (const Json& path : at_path(rule, "/http/paths"))
          return Route{ingress, at_path(path, "/backend/service")};
  }
  return std::nullopt;
}

struct Endpoints {
  std::string port;  // the port that the pods are asked on; empty: the service has no such port
  std::vector<ObjectPtr> ready;
};

std::string target_port(const Json& service, const Json& wanted) {
  for (const Json& port : at_path(service, "/spec/ports")) {
    const bool by_number = wanted.contains("number") && at_path(port, "/port") == wanted["number"];
    const bool by_name = wanted.contains("name") && at_path(port, "/name") == wanted["name"];
    if (!by_number && !by_name) continue;
    const Json& target = at_path(port, "/targetPort");
    return target.is_string() ? target.get<std::string>() : target.dump();
  }
  return "";
}

Endpoints endpoints_of(const Store& store, const std::string& name_space, const Json& backend) {
  const ObjectPtr service = store.find({Kind::services, name_space, text_at(backend, "name")});
  Endpoints found;
  if (!service) return found;
  found.port = target_port(*service, at_path(backend, "/port"));
  const Json& selector = at_path(*service, "/spec/selector");
  if (!selector.is_object() || selector.empty()) return found;
  for (const auto& [key, stored] : store.list_stored(Kind::pods, name_space)) {
    if (stored->terminating || stored->labels.empty() ||
        !label_selector_matches({{"matchLabels", selector}}, Json::parse(stored->labels)))
      continue;
    if (const ObjectPtr pod = store.find(key); is_true(*pod, "Ready")) found.ready.push_back(pod);
  }
  return found;
}

std::string images_of(const Json& pod) {
  std::string images;
  for (const Json& container : at_path(pod, "/spec/containers"))
    images += (images.empty() ? "" : ", ") + text_at(container, "image");
  return images;
}

// If the Service's targetPort is a name, it is that of a container's port.
std::string number_of(const std::string& target, const Json& pod) {
  for (const Json& container : at_path(pod, "/spec/containers"))
    for (const Json& port : at_path(container, "/ports"))
      if (text_at(port, "name") == target) return at_path(port, "/containerPort").dump();
  return target;
}

}  // namespace

Page page_of(const Store& store, const std::string& host) {
  const std::string name = host_name(host);
  const auto route = route_of(store, name);
  if (!route)
    return {404, document("404 page not found",
                          "<p>No Ingress has the host <b>" + escaped(name) + "</b>.</p>")};
  const Endpoints endpoints = endpoints_of(store, namespace_of(*route->ingress), route->backend);
  if (endpoints.ready.empty() || endpoints.port.empty())
    return {503, document("503 no available server",
                          "<p>No ready pod answers for <b>" + escaped(name) + "</b>.</p>")};
  const Json& pod = *endpoints.ready.front();
  return {
      200,
      document(name, "<dl>" + row("image", images_of(pod)) +
                         row("port", number_of(endpoints.port, pod)) + row("pod", name_of(pod)) +
                         row("ready replicas", std::to_string(endpoints.ready.size())) + "</dl>")};
}

}  // namespace berth::embedded
