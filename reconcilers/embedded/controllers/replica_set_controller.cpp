#include "reconcilers/embedded/controllers/replica_set_controller.h"

#include <algorithm>

#include "controller/base/clock.h"
#include "reconcilers/embedded/apiserver/conditions.h"
#include "reconcilers/embedded/apiserver/refusal.h"
#include "reconcilers/embedded/controllers/rollout.h"

namespace berth::embedded {
namespace {

constexpr const char* replica_set_component = "replicaset-controller";

Json pod_of(const Json& set) {
  const Json& pod_template = at_path(set, "/spec/template");
  Json pod{{"apiVersion", "v1"},
           {"kind", "Pod"},
           {"metadata", at_path(pod_template, "/metadata")},
           {"spec", at_path(pod_template, "/spec")}};
  pod["metadata"]["generateName"] = name_of(set) + "-";
  pod["metadata"]["ownerReferences"] = {{{"apiVersion", "apps/v1"},
                                         {"kind", "ReplicaSet"},
                                         {"name", name_of(set)},
                                         {"uid", uid_of(set)},
                                         {"controller", true},
                                         {"blockOwnerDeletion", true}}};
  return pod;
}

// How long a pod that is seen for the first time has been ready: it may have become so before
// berthd was started. Time stamps are whole seconds, so that less than two aren't counted.
std::chrono::milliseconds ready_for(const Json& pod) {
  const auto at = parse_iso8601(text_at(condition_of(pod, "Ready"), "lastTransitionTime"));
  if (!at) return std::chrono::milliseconds(0);
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(system_time() - *at);
  return passed < std::chrono::seconds(2) ? std::chrono::milliseconds(0) : passed;
}

}  // namespace

void ReplicaSetController::forget(const std::string& uid) {
  ready_since_.erase(uid);
  failures_.erase(uid);
}

std::vector<Key> ReplicaSetController::failing(const std::string& name_space) const {
  std::vector<Key> sets;
  for (const auto& [uid, failures] : failures_)
    if (failures.set.name_space == name_space) sets.push_back(failures.set);
  return sets;
}

std::vector<ObjectPtr> ReplicaSetController::active_pods(const Json& set) const {
  std::vector<ObjectPtr> pods;
  for (const Key& key : store_.dependents(uid_of(set))) {
    const ObjectPtr pod = key.kind == Kind::pods ? store_.find(key) : nullptr;
    if (!pod || !at_path(*pod, "/metadata/deletionTimestamp").is_null()) continue;
    const std::string phase = text_at((*pod)["status"], "phase");
    if (phase != "Failed" && phase != "Succeeded") pods.push_back(pod);
  }
  return pods;
}

std::optional<Moment> ReplicaSetController::reconcile(const Key& key, Moment now) {
  const ObjectPtr set = store_.find(key);
  if (!set) return std::nullopt;
  std::string failure;
  if (at_path(*set, "/metadata/deletionTimestamp").is_null()) {
    const auto pods = active_pods(*set);
    const std::int64_t missing =
        number_at(*set, "/spec/replicas", 1) - static_cast<std::int64_t>(pods.size());
    if (missing > 0) {
      forget_ended(*set);
      failure = create_pods(*set, missing);
    }
    if (missing < 0) delete_pods(*set, pods, -missing);
  }
  const ObjectPtr latest = store_.find(key);
  return latest ? report(key, *latest, failure, now) : std::nullopt;
}

// Pods that were evicted stay, so that it can be seen why, but only the newest: a container that is
// evicted again and again would fill the node's memory. (A real cluster keeps 12,500 of them.)
void ReplicaSetController::forget_ended(const Json& set) {
  std::map<std::pair<std::string, std::string>, Key> ended;  // by when they were created, and name
  for (const Key& key : store_.dependents(uid_of(set))) {
    const ObjectPtr pod = key.kind == Kind::pods ? store_.find(key) : nullptr;
    const std::string phase = pod ? text_at((*pod)["status"], "phase") : "";
    if (phase == "Failed" || phase == "Succeeded")
      ended[{text_at((*pod)["metadata"], "creationTimestamp"), key.name}] = key;
  }
  for (; ended.size() > most_ended; ended.erase(ended.begin())) {
    const Key& oldest = ended.begin()->second;
    registry_.remove(type_of(Kind::pods), oldest.name_space, oldest.name, {});
  }
}

std::string ReplicaSetController::create_pods(const Json& set, std::int64_t number) {
  for (std::int64_t i = 0; i < number; ++i) {
    try {
      const ObjectPtr pod = registry_.create(type_of(Kind::pods), namespace_of(set), pod_of(set),
                                             {{controller_manager}});
      events_.record(set, replica_set_component,
                     {EventType::normal, "SuccessfulCreate", "Created pod: " + name_of(*pod), ""});
    } catch (const Refusal& refusal) {
      events_.record(
          set, replica_set_component,
          {EventType::warning, "FailedCreate", "Error creating: " + refusal.message, ""});
      return refusal.message;
    }
  }
  return "";
}

// Deletes pods that aren't ready first, then the youngest ones.
void ReplicaSetController::delete_pods(const Json& set, std::vector<ObjectPtr> pods,
                                       std::int64_t number) {
  const auto rank = [](const ObjectPtr& pod) {
    return std::tuple(is_true(*pod, "Ready"), is_true(*pod, "PodScheduled"));
  };
  std::stable_sort(pods.begin(), pods.end(), [&](const ObjectPtr& a, const ObjectPtr& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return text_at((*a)["metadata"], "creationTimestamp") >
           text_at((*b)["metadata"], "creationTimestamp");
  });
  for (const ObjectPtr& pod : pods) {
    if (number-- <= 0) return;
    registry_.remove(type_of(Kind::pods), namespace_of(*pod), name_of(*pod), {});
    events_.record(set, replica_set_component,
                   {EventType::normal, "SuccessfulDelete", "Deleted pod: " + name_of(*pod), ""});
  }
}

bool ReplicaSetController::available(const Json& set, const Json& pod, Moment now,
                                     std::optional<Moment>& due) {
  const std::int64_t seconds = number_at(set, "/spec/minReadySeconds", 0);
  if (seconds == 0) return true;
  const Moment since = ready_since_.try_emplace(uid_of(pod), now - ready_for(pod)).first->second;
  const Moment at = since + seconds * timing_.second;
  if (now >= at) return true;
  due = due ? std::min(*due, at) : at;
  return false;
}

std::optional<Moment> ReplicaSetController::report(const Key& key, const Json& set,
                                                   const std::string& failure, Moment now) {
  std::optional<Moment> due;
  std::int64_t replicas = 0;
  std::int64_t ready = 0;
  std::int64_t ready_for_long = 0;
  for (const ObjectPtr& pod : active_pods(set)) {
    ++replicas;
    if (!is_true(*pod, "Ready")) {
      ready_since_.erase(uid_of(*pod));
      continue;
    }
    ++ready;
    if (available(set, *pod, now, due)) ++ready_for_long;
  }
  Json status{{"replicas", replicas}};
  if (replicas > 0) status["fullyLabeledReplicas"] = replicas;
  if (ready > 0) status["readyReplicas"] = ready;
  if (ready_for_long > 0) status["availableReplicas"] = ready_for_long;
  status["observedGeneration"] = number_at(set, "/metadata/generation", 1);
  const Json& conditions = at_path(set, "/status/conditions");
  if (!conditions.is_null()) status["conditions"] = conditions;
  if (failure.empty()) {
    failures_.erase(uid_of(set));
    remove_condition(status, "ReplicaFailure");
    if (status.contains("conditions") && status["conditions"].empty()) status.erase("conditions");
  } else {
    set_rollout_condition(status, {"ReplicaFailure", "True", "FailedCreate", failure});
    Failures& failures = failures_.try_emplace(uid_of(set), Failures{key}).first->second;
    const int times = std::min(most_doublings, failures.times++);
    due = now + (1 << times) * std::max(timing_.second / 50, shortest_retry);
  }
  if (status == at_path(set, "/status")) return due;
  Json next = set;
  next["status"] = std::move(status);
  registry_.write_status(key, std::move(next), controller_manager);
  return due;
}

}  // namespace berth::embedded
