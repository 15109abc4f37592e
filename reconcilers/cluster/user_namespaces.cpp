#include "reconcilers/cluster/user_namespaces.h"

#include <vector>

#include "controller/base/log.h"
#include "controller/base/text.h"

namespace berth::reconcilers {

bool UserNamespaceWatch::refresh() {
  kube::UserNamespaces seen;
  try {
    std::vector<std::string> labels;
    labels.reserve(node_selector_.size());
    for (const auto& [key, value] : node_selector_) labels.push_back(key + "=" + value);
    const kube::ListOptions all = {
        .name_space = "", .label_selector = joined(labels, ","), .field_selector = ""};
    seen = kube::user_namespaces_of(kube::Object::parse(client_.raw("/version")),
                                    client_.list(kube::nodes, all).items);
  } catch (const kube::ApiError& error) {
    if (error.status != 403 && error.status != 404) return false;
    seen = {.possible = false, .why_not = std::string("berthd may not see them: ") + error.what()};
  } catch (const std::exception&) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (seen.why_not != known_.why_not)
    log::info("user namespaces of containers",
              {{"default", seen.possible ? "on" : "off"}, {"reason", seen.why_not}});
  known_ = std::move(seen);
  return true;
}

kube::UserNamespaces UserNamespaceWatch::known() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

}  // namespace berth::reconcilers
