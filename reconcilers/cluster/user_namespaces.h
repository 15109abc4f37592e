#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "reconcilers/cluster/fields.h"
#include "reconcilers/kube/client.h"

namespace berth::reconcilers {

// Whether pods can have a user namespace: their users are then none of the node's (kubernetes.io,
// "User Namespaces").
struct UserNamespaces {
  bool possible = false;
  std::string why_not = "the nodes weren't looked at yet";  // a sentence for admins
};

// The versions that have and use all that is needed without being told to.
inline constexpr int user_namespaces_minor = 33;  // of the API server and the kubelets, behind 1.
inline constexpr int user_namespaces_kernel[] = {6, 3};  // tmpfs with mapped ids

// Returns whether pods on all of these nodes can. `version` is the API server's answer to
// GET /version. A node can if its kubelet and its kernel are new enough and its default container
// runtime says that it can.
UserNamespaces user_namespaces_of(const Object& version, const std::vector<Object>& nodes);

// Asks the API server about the nodes on which tenants' pods run. Thread-safe.
class UserNamespaceWatch {
 public:
  // Nodes change rarely, and what is found only counts for pods that are made later.
  static constexpr std::chrono::minutes interval{10};

  UserNamespaceWatch(kube::Client& client, std::map<std::string, std::string> node_selector)
      : client_(client), node_selector_(std::move(node_selector)) {}

  // Asks. What was known stays if there is no answer; a change is said in the log.
  void refresh();
  UserNamespaces known() const;

 private:
  kube::Client& client_;
  const std::map<std::string, std::string> node_selector_;
  mutable std::mutex mutex_;
  UserNamespaces known_;
};

}  // namespace berth::reconcilers
