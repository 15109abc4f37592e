#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "reconcilers/kube/client.h"
#include "reconcilers/kube/user_namespaces.h"

namespace berth::reconcilers {

// Asks the API server about the nodes on which tenants' pods run. Thread-safe.
class UserNamespaceWatch {
 public:
  // Nodes change rarely, and what is found only counts for pods that are made later.
  static constexpr std::chrono::minutes interval{10};
  // After this long, it is asked again if there was no answer.
  static constexpr std::chrono::seconds after_no_answer{15};

  UserNamespaceWatch(kube::Client& client, std::map<std::string, std::string> node_selector)
      : client_(client), node_selector_(std::move(node_selector)) {}

  // Asks, and returns whether there was an answer. What was known stays if there is none; a change
  // is said in the log.
  bool refresh();
  kube::UserNamespaces known() const;

 private:
  kube::Client& client_;
  const std::map<std::string, std::string> node_selector_;
  mutable std::mutex mutex_;
  kube::UserNamespaces known_;
};

}  // namespace berth::reconcilers
