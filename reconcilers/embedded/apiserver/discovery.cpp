#include "reconcilers/embedded/apiserver/discovery.h"

#include <algorithm>
#include <functional>
#include <map>

#include "controller/base/ascii.h"
#include "reconcilers/embedded/apiserver/conditions.h"

namespace berth::embedded {
namespace {

Json version_info() {
  return {{"major", "1"},
          {"minor", "37"},
          {"emulationMajor", "1"},
          {"emulationMinor", "37"},
          {"gitVersion", "v1.37.0-simulated"},
          {"gitCommit", "simulated"},
          {"gitTreeState", "clean"},
          {"platform", "linux/amd64"}};
}

Json resources_of(const std::string& group, const std::string& version) {
  Json resources = Json::array();
  for (const Type& type : all_types()) {
    if (type.group != group || type.version != version) continue;
    resources.push_back(
        {{"name", type.plural},
         {"singularName", lower_case(type.kind)},
         {"namespaced", type.namespaced()},
         {"kind", type.kind},
         {"verbs",
          {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}}});
    if (type.status == HasStatus::yes)
      resources.push_back({{"name", std::string(type.plural) + "/status"},
                           {"singularName", ""},
                           {"namespaced", type.namespaced()},
                           {"kind", type.kind},
                           {"verbs", {"get", "patch", "update"}}});
    if (type.id == Kind::pods)
      resources.push_back({{"name", "pods/resize"},
                           {"singularName", ""},
                           {"namespaced", true},
                           {"kind", type.kind},
                           {"verbs", {"get", "patch"}}});
  }
  return resources;
}

Json resource_list(const std::string& group, const std::string& version) {
  const std::string whole = group.empty() ? version : group + "/" + version;
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", whole},
          {"resources", resources_of(group, version)}};
}

Json group_of(const std::string& group, const std::string& version) {
  const Json one{{"groupVersion", group + "/" + version}, {"version", version}};
  return {{"name", group}, {"versions", {one}}, {"preferredVersion", one}};
}

std::map<std::string, std::string> groups() {
  std::map<std::string, std::string> found;
  for (const Type& type : all_types())
    if (!type.group.empty()) found[std::string(type.group)] = std::string(type.version);
  return found;
}

}  // namespace

std::optional<Json> discovery(const std::string& path) {
  if (path == "/version") return version_info();
  if (path == "/api")
    return Json{{"kind", "APIVersions"},
                {"versions", {"v1"}},
                {"serverAddressByClientCIDRs", Json::array()}};
  if (path == "/api/v1") return resource_list("", "v1");
  if (path == "/apis") {
    Json list{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", Json::array()}};
    for (const auto& [group, version] : groups())
      list["groups"].push_back(group_of(group, version));
    return list;
  }
  for (const auto& [group, version] : groups()) {
    if (path == "/apis/" + group) {
      Json one = group_of(group, version);
      one["kind"] = "APIGroup";
      one["apiVersion"] = "v1";
      return one;
    }
    if (path == "/apis/" + group + "/" + version) return resource_list(group, version);
  }
  return std::nullopt;
}

Json pod_metrics(const std::vector<Json>& pods, const UsageOf& usage_of) {
  Json list{{"kind", "PodMetricsList"},
            {"apiVersion", "metrics.k8s.io/v1beta1"},
            {"metadata", Json::object()},
            {"items", Json::array()}};
  for (const Json& pod : pods) {
    if (text_at(at_path(pod, "/status"), "phase") != "Running") continue;
    Json containers = Json::array();
    std::string at;
    for (const Json& container : at_path(pod, "/spec/containers")) {
      const auto usage = usage_of(pod, container);
      if (!usage) continue;
      if (at.empty()) at = usage->at;
      containers.push_back({{"name", text_at(container, "name")},
                            {"usage",
                             {{"cpu", std::to_string(usage->cpu_nanocores) + "n"},
                              {"memory", std::to_string(usage->memory_bytes / 1024) + "Ki"}}}});
    }
    // A pod has no metrics before all of its containers have been measured.
    if (containers.size() != at_path(pod, "/spec/containers").size()) continue;
    Json metadata{{"name", name_of(pod)},
                  {"namespace", namespace_of(pod)},
                  {"creationTimestamp", timestamp()}};
    if (const Json& labels = at_path(pod, "/metadata/labels"); !labels.is_null())
      metadata["labels"] = labels;
    list["items"].push_back({{"metadata", std::move(metadata)},
                             {"timestamp", at},
                             {"window", "15s"},
                             {"containers", std::move(containers)}});
  }
  return list;
}

}  // namespace berth::embedded
