#include "reconcilers/cluster/user_namespaces.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "controller/base/log.h"
#include "controller/base/text.h"

namespace berth::reconcilers {
namespace {

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

bool has_runtime(const Object& node) {
  const Object& handlers = field(node, {"status", "runtimeHandlers"});
  return std::ranges::any_of(handlers, [](const Object& handler) {
    const Object& can = field(handler, {"features", "userNamespaces"});
    return text_at(handler, {"name"}).empty() && can.is_boolean() && can.get<bool>();
  });
}

// Why a node can't; an empty text if it can.
std::string obstacle_of(const Object& node) {
  const std::string kubelet = text_at(node, {"status", "nodeInfo", "kubeletVersion"});
  const std::string kernel = text_at(node, {"status", "nodeInfo", "kernelVersion"});
  if (!is_new_enough(kubelet))
    return "its kubelet is " + kubelet + ", and 1." + std::to_string(user_namespaces_minor) +
           " is needed";
  if (numbers_of(kernel) < std::to_array(user_namespaces_kernel))
    return "its kernel is " + kernel + ", and 6.3 is needed";
  if (!has_runtime(node)) return "its container runtime doesn't support them";
  return "";
}

}  // namespace

UserNamespaces user_namespaces_of(const Object& version, const std::vector<Object>& nodes) {
  const std::string server = text_at(version, {"gitVersion"});
  if (!is_new_enough(server))
    return {.possible = false,
            .why_not = "the API server is " + server + ", and 1." +
                       std::to_string(user_namespaces_minor) + " is needed"};
  if (nodes.empty()) return {.possible = false, .why_not = "there are no nodes for containers"};
  for (const Object& node : nodes)
    if (const std::string why = obstacle_of(node); !why.empty())
      return {.possible = false, .why_not = "not on the node " + name_of(node) + ": " + why};
  return {.possible = true, .why_not = ""};
}

void UserNamespaceWatch::refresh() {
  UserNamespaces seen;
  try {
    std::vector<std::string> labels;
    for (const auto& [key, value] : node_selector_) labels.push_back(key + "=" + value);
    const kube::ListOptions all = {
        .name_space = "", .label_selector = joined(labels, ","), .field_selector = ""};
    seen = user_namespaces_of(Object::parse(client_.raw("/version")),
                              client_.list(kube::nodes, all).items);
  } catch (const kube::ApiError& error) {
    if (error.unreachable() || error.status >= 500) return;
    seen = {.possible = false, .why_not = std::string("berthd may not see them: ") + error.what()};
  } catch (const std::exception&) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (seen.why_not != known_.why_not)
    log::info("user namespaces of containers",
              {{"default", seen.possible ? "on" : "off"}, {"reason", seen.why_not}});
  known_ = std::move(seen);
}

UserNamespaces UserNamespaceWatch::known() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

}  // namespace berth::reconcilers
