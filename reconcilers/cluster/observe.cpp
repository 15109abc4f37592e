#include "reconcilers/cluster/observe.h"

#include <algorithm>
#include <array>

#include "manifests/manifests.h"

namespace berth::reconcilers {
namespace {

using deployments::Deployment;
using deployments::HealthStatus;
using deployments::Observation;
using deployments::Reason;
using deployments::Status;

// The pods that matter: the one of the newest template, and those that it replaces.
struct Pods {
  const Object* newest = nullptr;   // null: not created yet
  const Object* serving = nullptr;  // a pod of an older template that is ready
  bool old_ones_left = false;
};

bool is_better(const Object& candidate, const Object& known) {
  if (is_over(candidate) != is_over(known)) return is_over(known);
  return text_at(candidate, {"metadata", "creationTimestamp"}) >
         text_at(known, {"metadata", "creationTimestamp"});
}

Pods sort_out(const Live& live) {
  const std::string wanted = template_wanted_by(live.deployment);
  Pods pods;
  for (const Object& pod : live.pods) {
    if (is_being_deleted(pod)) continue;
    if (template_of(pod) == wanted) {
      if (!pods.newest || is_better(pod, *pods.newest)) pods.newest = &pod;
    } else if (!is_over(pod)) {
      pods.old_ones_left = true;
      if (is_ready(pod)) pods.serving = &pod;
    }
  }
  return pods;
}

bool is_observed(const Object& deployment) {
  return number_at(deployment, {"status", "observedGeneration"}) >=
         number_at(deployment, {"metadata", "generation"});
}

// Whether the Deployment's controller has seen our last change and only pods of the newest template
// are left.
bool rollout_is_complete(const Object& deployment) {
  const auto wanted = number_at(deployment, {"spec", "replicas"});
  return is_observed(deployment) &&
         number_at(deployment, {"status", "updatedReplicas"}) == wanted &&
         number_at(deployment, {"status", "replicas"}) == wanted &&
         number_at(deployment, {"status", "readyReplicas"}) >= wanted;
}

void describe(Observation& seen, const Object& pod) {
  const auto known = [](std::string text) {
    return text.empty() ? std::nullopt : std::optional(std::move(text));
  };
  const Object& status = container_status(pod);
  seen.container_id = known(text_at(status, {"containerID"}));
  seen.image_digest = known(text_at(status, {"imageID"}));
  seen.host_server = known(text_at(pod, {"spec", "nodeName"}));
}

// The status of a rollout that isn't finished: pending until the first container has started,
// deploying in every other case.
Status on_the_way(const Deployment& row, bool has_started) {
  return row.status == Status::pending && !has_started ? Status::pending : Status::deploying;
}

void set_trouble(Observation& seen, const Trouble& trouble, const Object* serving) {
  seen.message = trouble.message;
  if (serving) {
    seen.status = Status::running;
    seen.reason = Reason::rollout_failed;
    seen.cause = trouble.reason;
    seen.health_status = HealthStatus::healthy;
    describe(seen, *serving);
  } else {
    seen.status = Status::errored;
    seen.reason = trouble.reason;
    seen.health_status = HealthStatus::unhealthy;
  }
}

Seen observe_stopped(const Deployment& row, const Live& live) {
  Observation seen;
  seen.status = Status::stopped;
  seen.phase = live.pods.empty() ? "" : "stopping";
  if (row.suspended_at) {
    seen.reason = Reason::suspended_by_admin;
    seen.message = row.message;
  } else if (row.billing_status == billing::Status::suspended) {
    seen.message = row.message;
  }
  return {seen, {}};
}

// The Deployment's controller has given up on the rollout of the newest template, which made no
// progress for progressDeadlineSeconds. What it says about an older template doesn't count.
bool has_missed_deadline(const Object& deployment) {
  return text_at(condition(deployment, "Progressing"), {"reason"}) == "ProgressDeadlineExceeded" &&
         is_observed(deployment);
}

// Recognises the messages with which the API server and admission plugins refuse an object. The
// condition has the message of the error without its status.
bool is_refusal(const std::string& message) {
  constexpr std::array words = {"forbidden", "denied", "is invalid"};
  return std::ranges::any_of(
      words, [&](const char* word) { return message.find(word) != std::string::npos; });
}

// The reason for a pod that the API server has refused with this message.
Reason refusal_of(const std::string& message) {
  if (message.contains("exceeded quota")) return Reason::quota_exceeded;
  // This is the message of the API server's RuntimeClass admission plugin.
  if (message.contains("pod rejected: RuntimeClass")) return Reason::runtime_class_missing;
  return Reason::cluster_refused;
}

// Returns why the ReplicaSet can't create the pod; nothing if it can, or if it is too early to say.
// An API server that is too busy to take the pod counts as a refusal only if that doesn't pass.
std::optional<Trouble> creation_trouble(const Object& deployment) {
  const Object& failure = condition(deployment, "ReplicaFailure");
  if (text_at(failure, {"status"}) != "True") return std::nullopt;
  const std::string message = text_at(failure, {"message"});
  if (!is_refusal(message) && !has_missed_deadline(deployment)) return std::nullopt;
  // A quota that was created milliseconds ago has no usage numbers yet (k8s.io/apiserver, quota
  // admission).
  if (message.find("status unknown for quota") != std::string::npos) return std::nullopt;
  return Trouble{refusal_of(message), message};
}

// Returns the trouble of a rollout that missed its deadline although its pod reports no trouble,
// for example because pulling the image never ends.
std::optional<Trouble> deadline_trouble(const Object& deployment, PodState::Step step) {
  if (!has_missed_deadline(deployment)) return std::nullopt;
  const std::string message = text_at(condition(deployment, "Progressing"), {"message"});
  switch (step) {
    case PodState::Step::scheduling:
      return Trouble{Reason::unschedulable, message};
    case PodState::Step::pulling:
      return Trouble{Reason::image_pull_failed, message};
    case PodState::Step::starting:
      return Trouble{Reason::crash_loop, message};
    case PodState::Step::probing:
      return Trouble{Reason::port_not_listening, message};
    case PodState::Step::ready:
      break;
  }
  return std::nullopt;
}

Seen observe_without_pod(const Deployment& row, const Live& live, const Pods& pods,
                         const Patience& patience, Instant now) {
  Seen seen;
  seen.observation.status = on_the_way(row, false);
  seen.observation.phase = "scheduling";
  const auto trouble = creation_trouble(live.deployment);
  if (!trouble) return seen;
  // Pods that are terminating still count against the quota, and the ReplicaSet tries again by
  // itself.
  const bool makes_room = std::ranges::any_of(live.pods, is_being_deleted);
  if (trouble->reason == Reason::quota_exceeded && makes_room) return seen;
  const auto since =
      instant_at(condition(live.deployment, "ReplicaFailure"), {"lastTransitionTime"});
  const Duration waited = since ? std::max(now - *since, Duration(0)) : patience.creating;
  if (waited < patience.creating) {
    seen.look_again = patience.creating - waited;
    return seen;
  }
  set_trouble(seen.observation, *trouble, pods.serving);
  return seen;
}

// The newest pod is ready; only the old pods may still have to end.
Observation observe_ready(const Deployment& row, const Live& live, const Pods& pods) {
  Observation seen;
  const bool complete = rollout_is_complete(live.deployment) && !pods.old_ones_left;
  seen.status = complete ? Status::running : on_the_way(row, true);
  seen.phase = complete ? "" : "replacing";
  seen.health_status = HealthStatus::healthy;
  describe(seen, *pods.newest);
  return seen;
}

Seen observe_unready(const Deployment& row, const Live& live, const Pods& pods,
                     const Patience& patience, Instant now) {
  const auto events = live.events.find(name_of(*pods.newest));
  PodState state =
      state_of(*pods.newest, events == live.events.end() ? std::vector<Object>{} : events->second,
               row, patience, now);
  if (!state.trouble) state.trouble = deadline_trouble(live.deployment, state.step);
  Seen seen;
  seen.look_again = state.look_again;
  seen.observation.phase = to_string(state.step);
  describe(seen.observation, *pods.newest);
  if (state.trouble) {
    set_trouble(seen.observation, *state.trouble, pods.serving);
    return seen;
  }
  seen.observation.status = on_the_way(row, state.has_started);
  seen.observation.health_status = pods.serving ? HealthStatus::healthy : HealthStatus::unknown;
  if (row.status == Status::running && !pods.serving && state.has_started) {
    // The pod was healthy before. Failing probes alone don't take the running status away, since
    // this is still the pod that serves requests.
    seen.observation.status = Status::running;
    seen.observation.health_status = HealthStatus::unhealthy;
  }
  return seen;
}

}  // namespace

std::string template_of(const Object& pod) {
  return text_at(pod, {"metadata", "annotations", manifests::template_annotation});
}

std::string template_wanted_by(const Object& deployment) {
  return text_at(deployment,
                 {"spec", "template", "metadata", "annotations", manifests::template_annotation});
}

Seen observe(const Deployment& row, const Live& live, const Patience& patience, Instant now) {
  if (row.status == Status::stopped) return observe_stopped(row, live);
  if (live.deployment.is_null()) return {waiting(row, ""), {}};
  const Pods pods = sort_out(live);
  if (!pods.newest) return observe_without_pod(row, live, pods, patience, now);
  if (is_ready(*pods.newest)) return {observe_ready(row, live, pods), {}};
  return observe_unready(row, live, pods, patience, now);
}

Observation refused(const Deployment& row, const Live& live, const Trouble& why) {
  const auto serving = std::find_if(live.pods.begin(), live.pods.end(), [](const Object& pod) {
    return is_ready(pod) && !is_being_deleted(pod);
  });
  Observation seen;
  set_trouble(seen, why, serving == live.pods.end() ? nullptr : &*serving);
  if (row.status == Status::stopped) seen.status = Status::stopped;
  return seen;
}

Observation unreachable(const Deployment& row) {
  return {.status = row.status,
          .phase = row.phase,
          .reason = Reason::cluster_unreachable,
          .cause = {},
          .message = "the cluster does not answer",
          .container_id = row.container_id,
          .image_digest = row.image_digest,
          .host_server = row.host_server,
          .health_status = row.health_status};
}

Observation writes_refused(const Deployment& row, const std::string& message) {
  Observation seen = unreachable(row);
  if (row.status == Status::pending || row.status == Status::deploying)
    seen.phase = "waiting for the cluster";
  seen.reason = Reason::cluster_refuses_writes;
  seen.message = message;
  return seen;
}

Observation held_back(const Deployment& row, const std::string& why) {
  Observation seen = unreachable(row);
  seen.reason = Reason::cluster_refused;
  seen.message = why;
  return seen;
}

Observation waiting(const Deployment& row, const std::string& phase) {
  Observation seen;
  seen.status = row.status == Status::stopped ? Status::stopped : on_the_way(row, false);
  seen.phase = phase;
  if (row.status == Status::stopped && row.suspended_at) {
    seen.reason = Reason::suspended_by_admin;
    seen.message = row.message;
  } else if (row.status == Status::stopped && row.billing_status == billing::Status::suspended) {
    seen.message = row.message;
  }
  return seen;
}

bool must_wait(const Object& current, const std::vector<ObjectPtr>& pods, const Object& desired) {
  const std::string wanted = template_wanted_by(current);
  if (wanted.empty() || template_wanted_by(desired) == wanted) return false;
  if (number_at(desired, {"spec", "replicas"}) == 0) return false;
  if (number_at(current, {"status", "availableReplicas"}) > 0) return false;
  return std::ranges::any_of(pods, [&](const ObjectPtr& pod) {
    return is_ready(*pod) && !is_being_deleted(*pod) && template_of(*pod) != wanted;
  });
}

bool starts_container(const Object& current, const Object& desired) {
  if (number_at(desired, {"spec", "replicas"}) == 0) return false;
  return number_at(current, {"spec", "replicas"}) == 0 ||
         template_wanted_by(current) != template_wanted_by(desired);
}

std::vector<std::string> pods_with_questions(const Live& live, const Patience& patience,
                                             Instant now) {
  std::vector<std::string> names;
  for (const Object& pod : live.pods) {
    if (is_ready(pod) || is_being_deleted(pod)) continue;
    const Object& state = field(container_status(pod), {"state"});
    const auto started = instant_at(state, {"running", "startedAt"});
    if (state.contains("waiting") || (started && now - *started >= patience.listening))
      names.push_back(name_of(pod));
  }
  return names;
}

}  // namespace berth::reconcilers
