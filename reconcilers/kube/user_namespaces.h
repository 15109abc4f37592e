#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace berth::kube {

// Whether pods can have a user namespace: their users are then none of the node's (kubernetes.io,
// "User Namespaces").
struct UserNamespaces {
  bool possible = false;
  std::string why_not = "the nodes weren't looked at yet";  // a sentence for admins
};

// The oldest versions in which all that is needed exists and is on by default.
inline constexpr int user_namespaces_minor = 33;  // 1.33, of the API server and the kubelets
// Of Linux, whose tmpfs then supports mapped ids.
inline constexpr int user_namespaces_kernel[] = {6, 3};

// Returns whether pods on all of these nodes can. `version` is the API server's answer to
// GET /version. A node can if its kubelet and its kernel are new enough and its default container
// runtime says that it can.
UserNamespaces user_namespaces_of(const nlohmann::json& version,
                                  const std::vector<nlohmann::json>& nodes);

}  // namespace berth::kube
