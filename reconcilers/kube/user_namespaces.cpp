#include "reconcilers/kube/user_namespaces.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace berth::kube {
namespace {

using nlohmann::json;

std::string text_at(const json& object, const char* pointer) {
  const json::json_pointer path(pointer);
  if (!object.is_object() || !object.contains(path) || !object.at(path).is_string()) return "";
  return object.at(path).get<std::string>();
}

// The first two numbers of a version such as v1.34.4 or 6.18.44-cloud; zeros if it has none.
std::array<int, 2> numbers_of(const std::string& version) {
  std::array<int, 2> numbers{};
  const char* text = version.c_str() + (version.starts_with('v') ? 1 : 0);
  if (std::sscanf(text, "%d.%d", &numbers[0], &numbers[1]) != 2) return {};
  return numbers;
}

bool is_new_enough(const std::string& kubernetes) {
  return numbers_of(kubernetes) >= std::array{1, user_namespaces_minor};
}

bool has_runtime(const json& node) {
  const json::json_pointer handlers("/status/runtimeHandlers");
  const json::json_pointer feature("/features/userNamespaces");
  if (!node.contains(handlers) || !node.at(handlers).is_array()) return false;
  return std::ranges::any_of(node.at(handlers), [&](const json& handler) {
    return text_at(handler, "/name").empty() && handler.contains(feature) &&
           handler.at(feature) == true;
  });
}

// Why a node can't; an empty text if it can.
std::string obstacle_of(const json& node) {
  const std::string kubelet = text_at(node, "/status/nodeInfo/kubeletVersion");
  const std::string kernel = text_at(node, "/status/nodeInfo/kernelVersion");
  if (!is_new_enough(kubelet))
    return "its kubelet is " + kubelet + ", and 1." + std::to_string(user_namespaces_minor) +
           " is needed";
  if (kernel.empty()) return "its kernel's version is unknown, and 6.3 is needed";
  if (numbers_of(kernel) < std::to_array(user_namespaces_kernel))
    return "its kernel is " + kernel + ", and 6.3 is needed";
  if (!has_runtime(node)) return "its container runtime doesn't support them";
  return "";
}

}  // namespace

UserNamespaces user_namespaces_of(const json& version, const std::vector<json>& nodes) {
  const std::string server = text_at(version, "/gitVersion");
  if (!is_new_enough(server))
    return {.possible = false,
            .why_not = "the API server is " + server + ", and 1." +
                       std::to_string(user_namespaces_minor) + " is needed"};
  if (nodes.empty()) return {.possible = false, .why_not = "there are no nodes for containers"};
  for (const json& node : nodes)
    if (const std::string why = obstacle_of(node); !why.empty())
      return {.possible = false,
              .why_not = "not on the node " + text_at(node, "/metadata/name") + ": " + why};
  return {.possible = true, .why_not = ""};
}

}  // namespace berth::kube
