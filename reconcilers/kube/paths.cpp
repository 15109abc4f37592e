#include "reconcilers/kube/paths.h"

#include <array>
#include <stdexcept>

#include "controller/base/url.h"

namespace berth::kube {
namespace {

constexpr std::array all_resources = {
    &namespaces,  &secrets,          &services,        &pods,
    &events,      &service_accounts, &resource_quotas, &limit_ranges,
    &deployments, &replica_sets,     &ingresses,       &network_policies,
    &leases,      &certificates,     &role_bindings,   &pod_disruption_budgets,
    &jobs};

// What path segments can be: kubernetes.io, "Object Names and IDs", path segment names.
void expect_segment(const std::string& text, const char* what) {
  if (text.empty() || text == "." || text == ".." || text.find_first_of("/%") != std::string::npos)
    throw std::invalid_argument(std::string(what) + " is missing or isn't the name of an object");
}

}  // namespace

const Resource& resource_of(const Object& object) {
  const auto field = [&](const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  };
  const std::string api_version = field("apiVersion");
  const std::string kind = field("kind");
  for (const Resource* resource : all_resources)
    if (resource->api_version == api_version && resource->kind == kind) return *resource;
  throw std::invalid_argument("berth doesn't know the resource " + api_version + " \"" + kind +
                              "\"");
}

std::string collection_path(const Resource& resource, const std::string& name_space) {
  const bool core = resource.api_version.find('/') == std::string_view::npos;
  std::string path = (core ? "/api/" : "/apis/") + std::string(resource.api_version);
  if (resource.namespaced && !name_space.empty()) {
    expect_segment(name_space, "the namespace");
    path += "/namespaces/" + percent_encode(name_space);
  }
  return path + "/" + std::string(resource.plural);
}

std::string create_path(const Resource& resource, const std::string& name_space) {
  if (resource.namespaced) expect_segment(name_space, "the namespace");
  return collection_path(resource, name_space);
}

std::string object_path(const Resource& resource, const std::string& name_space,
                        const std::string& name) {
  expect_segment(name, "the name");
  return create_path(resource, name_space) + "/" + percent_encode(name);
}

Query& Query::add(std::string_view key, std::string_view value) {
  if (value.empty()) return *this;
  text_ += text_.empty() ? '?' : '&';
  text_ += std::string(key) + "=" + percent_encode(value);
  return *this;
}

}  // namespace berth::kube
