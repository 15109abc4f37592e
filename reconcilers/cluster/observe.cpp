#include "reconcilers/cluster/observe.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <set>

#include "controller/base/sooner.h"
#include "manifests/manifests.h"

namespace berth::reconcilers {

void describe(deployments::Observation& seen, const Object& pod) {
  const auto known = [](std::string text) {
    return text.empty() ? std::nullopt : std::optional(std::move(text));
  };
  const Object& status = container_status(pod);
  seen.container_id = known(text_at(status, {"containerID"}));
  seen.image_digest = known(text_at(status, {"imageID"}));
  seen.host_server = known(text_at(pod, {"spec", "nodeName"}));
}

namespace {

using deployments::Deployment;
using deployments::HealthStatus;
using deployments::Observation;
using deployments::Reason;
using deployments::Status;

// A process of the deployment, and what the API server has about it.
struct Part {
  const Deployment& row;
  deployments::ProcessSpec process;
  Object deployment;                // null if there is none
  std::vector<const Object*> pods;  // including pods that are being deleted
};

// The pods that matter: those of the newest template, and those that they replace.
struct Pods {
  std::vector<const Object*> current;  // not over, unless all of them are
  const Object* serving = nullptr;     // a pod of an older template that is ready
  bool old_ones_left = false;
};

bool is_newer(const Object* one, const Object* other) {
  const auto made = [](const Object& pod) {
    return std::pair(text_at(pod, {"metadata", "creationTimestamp"}), name_of(pod));
  };
  return made(*one) > made(*other);
}

Pods sort_out(const Part& part) {
  const std::string wanted = template_wanted_by(part.deployment);
  Pods pods;
  std::vector<const Object*> over;
  for (const Object* pod : part.pods) {
    if (is_being_deleted(*pod)) continue;
    if (template_of(*pod) == wanted) {
      (is_over(*pod) ? over : pods.current).push_back(pod);
    } else if (!is_over(*pod)) {
      pods.old_ones_left = true;
      if (is_ready(*pod)) pods.serving = pod;
    }
  }
  std::ranges::sort(pods.current, is_newer);
  std::ranges::sort(over, is_newer);
  if (pods.current.empty() && !over.empty()) pods.current = {over.front()};
  return pods;
}

bool is_observed(const Object& deployment) {
  return number_at(deployment, {"status", "observedGeneration"}) >=
         number_at(deployment, {"metadata", "generation"});
}

// Whether the Deployment's controller has seen our last change, only pods of the newest template
// are left, and all of them do their work: are ready or, without a port, have run for
// minReadySeconds.
bool rollout_is_complete(const Part& part) {
  const Object& deployment = part.deployment;
  const auto wanted = number_at(deployment, {"spec", "replicas"});
  const char* good = part.process.port ? "readyReplicas" : "availableReplicas";
  return is_observed(deployment) &&
         number_at(deployment, {"status", "updatedReplicas"}) == wanted &&
         number_at(deployment, {"status", "replicas"}) == wanted &&
         number_at(deployment, {"status", good}) >= wanted;
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
  const bool has_pods = std::ranges::any_of(
      live.pods, [](const Object& pod) { return !manifests::process_of(pod).empty(); });
  seen.phase = has_pods ? "stopping" : "";
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

// Whether the pods go on as they are recorded: no rollout is going on, and some do their work.
bool stays_running(const Deployment& row, const Pods& pods) {
  return row.status == Status::running && !pods.old_ones_left;
}

// Returns the trouble of a pod that the ReplicaSet can't make, once it has lasted. `look_again` is
// set while it is too early to say.
std::optional<Trouble> missing_pod_trouble(const Part& part, const Patience& patience, Instant now,
                                           std::optional<Duration>& look_again) {
  auto trouble = creation_trouble(part.deployment);
  if (!trouble) return std::nullopt;
  // Pods that are terminating still count against the quota, and the ReplicaSet tries again by
  // itself.
  const bool makes_room =
      std::ranges::any_of(part.pods, [](const Object* pod) { return is_being_deleted(*pod); });
  if (trouble->reason == Reason::quota_exceeded && makes_room) return std::nullopt;
  const auto since =
      instant_at(condition(part.deployment, "ReplicaFailure"), {"lastTransitionTime"});
  const Duration waited = since ? std::max(now - *since, Duration(0)) : patience.creating;
  if (waited >= patience.creating) return trouble;
  look_again = patience.creating - waited;
  return std::nullopt;
}

Seen observe_without_pod(const Part& part, const Pods& pods, const Patience& patience,
                         Instant now) {
  Seen seen;
  seen.observation.status = on_the_way(part.row, false);
  seen.observation.phase = "scheduling";
  if (const auto trouble = missing_pod_trouble(part, patience, now, seen.look_again))
    set_trouble(seen.observation, *trouble, pods.serving);
  return seen;
}

// All new pods do their work; only old ones may still have to end.
Observation observe_ready(const Part& part, const Pods& pods) {
  Observation seen;
  seen.health_status = HealthStatus::healthy;
  describe(seen, *pods.current.front());
  const bool complete = rollout_is_complete(part) && !pods.old_ones_left;
  if (complete || stays_running(part.row, pods)) {
    seen.status = Status::running;
    seen.phase = complete ? "" : "scaling";
  } else {
    seen.status = on_the_way(part.row, true);
    seen.phase = part.process.port || pods.old_ones_left ? "replacing" : "starting";
  }
  return seen;
}

// What the new pods say that don't do their work.
struct Unready {
  const Object* well = nullptr;  // one that does
  size_t well_ones = 0;
  const Object* worst = nullptr;  // one that has a trouble, or else has come the least far
  PodState state;                 // of the worst
  std::optional<Duration> look_again;
};

// The order in which troubles are told, so that it is always the same one of several.
bool is_worse(const PodState& one, const PodState& other) {
  if (one.trouble && other.trouble)
    return std::pair(one.trouble->reason, one.trouble->message) <
           std::pair(other.trouble->reason, other.trouble->message);
  if (one.trouble || other.trouble) return one.trouble.has_value();
  return one.step < other.step;
}

Unready look_at_pods(const Part& part, const Pods& pods, const Live& live, const Patience& patience,
                     Instant now) {
  static const std::vector<Object> none;
  Unready found;
  for (const Object* pod : pods.current) {
    const auto events = live.events.find(name_of(*pod));
    PodState state = state_of(*pod, events == live.events.end() ? none : events->second,
                              part.process, patience, now);
    found.look_again = sooner(found.look_again, state.look_again);
    if (is_ready(*pod) && state.is_well()) {
      if (!found.well) found.well = pod;
      ++found.well_ones;
    } else if (!found.worst || is_worse(state, found.state)) {
      found.worst = pod;
      found.state = std::move(state);
    }
  }
  return found;
}

// Some of the new pods do their work, and others don't, or are missing.
void set_partly_ready(Observation& seen, const Part& part, const Pods& pods, const Unready& found,
                      const std::optional<Trouble>& trouble) {
  const bool runs = stays_running(part.row, pods);
  seen.status = runs ? Status::running : on_the_way(part.row, true);
  seen.phase = runs                 ? "scaling"
               : pods.old_ones_left ? "replacing"
               : found.worst        ? to_string(found.state.step)
                                    : "scheduling";
  seen.health_status = HealthStatus::healthy;
  describe(seen, *found.well);
  if (!trouble) return;
  seen.reason = trouble->reason;
  seen.message = trouble->message;
}

void set_unready(Observation& seen, const Part& part, const Pods& pods, const Unready& found) {
  const PodState& state = found.state;
  seen.status = on_the_way(part.row, state.has_started);
  seen.phase = to_string(state.step);
  seen.health_status = pods.serving ? HealthStatus::healthy : HealthStatus::unknown;
  describe(seen, *found.worst);
  if (part.row.status == Status::running && !pods.serving && state.has_started) {
    // The pod was healthy before. Failing probes alone don't take the running status away, since
    // this is still the pod that serves requests.
    seen.status = Status::running;
    seen.health_status = HealthStatus::unhealthy;
  }
}

Seen observe_process(const Part& part, const Live& live, const Patience& patience, Instant now) {
  if (part.deployment.is_null()) return {waiting(part.row, ""), {}};
  const Pods pods = sort_out(part);
  if (pods.current.empty()) return observe_without_pod(part, pods, patience, now);
  const auto wanted = size_t(number_at(part.deployment, {"spec", "replicas"}));
  Unready found = look_at_pods(part, pods, live, patience, now);
  if (found.well_ones >= wanted) return {observe_ready(part, pods), found.look_again};
  Seen seen;
  seen.look_again = found.look_again;
  auto trouble = found.worst ? found.state.trouble : std::nullopt;
  if (!trouble && pods.current.size() < wanted)
    trouble = missing_pod_trouble(part, patience, now, seen.look_again);
  if (!trouble && found.worst) trouble = deadline_trouble(part.deployment, found.state.step);
  if (found.well && !(trouble && pods.serving)) {
    set_partly_ready(seen.observation, part, pods, found, trouble);
    return seen;
  }
  if (found.worst) set_unready(seen.observation, part, pods, found);
  if (trouble) set_trouble(seen.observation, *trouble, pods.serving);
  return seen;
}

std::vector<Part> parts_of(const Deployment& row, const Live& live) {
  std::vector<Part> parts;
  for (deployments::ProcessSpec& process : processes_of(row)) {
    Part part{.row = row, .process = std::move(process), .deployment = {}, .pods = {}};
    for (const Object& deployment : live.deployments)
      if (manifests::process_of(deployment) == part.process.name) part.deployment = deployment;
    for (const Object& pod : live.pods)
      if (manifests::process_of(pod) == part.process.name) part.pods.push_back(&pod);
    parts.push_back(std::move(part));
  }
  return parts;
}

// Whether pods are left of processes that the deployment no longer has.
bool has_strangers(const std::vector<Part>& parts, const Live& live) {
  return std::ranges::any_of(live.pods, [&](const Object& pod) {
    return !is_being_deleted(pod) && !is_over(pod) && !manifests::process_of(pod).empty() &&
           std::ranges::none_of(parts, [&](const Part& part) {
             return part.process.name == manifests::process_of(pod);
           });
  });
}

// How much a process' state decides the deployment's.
int weight_of(const Observation& seen) {
  const int weight = seen.status == Status::errored                  ? 5
                     : seen.reason == Reason::rollout_failed         ? 4
                     : seen.status != Status::running                ? 3
                     : seen.health_status == HealthStatus::unhealthy ? 2
                     : !seen.phase.empty()                           ? 1
                                                                     : 0;
  return 2 * weight + (seen.reason ? 1 : 0);
}

// The deployment's state, of those of its processes, of which there is at least one.
Observation summary_of(const std::vector<Part>& parts, const std::vector<Observation>& all) {
  const auto worst = std::ranges::max_element(
      all, [](const Observation& a, const Observation& b) { return weight_of(a) < weight_of(b); });
  Observation seen = *worst;
  const std::string& process = parts[size_t(worst - all.begin())].process.name;
  const bool is_web_alone = parts.size() == 1 && process == deployments::web_process;
  if (seen.message && !is_web_alone) seen.message = process + ": " + *seen.message;
  // Pending means that nothing has started yet, of any process.
  if (seen.status == Status::pending && std::ranges::any_of(all, [](const Observation& one) {
        return one.status != Status::pending;
      }))
    seen.status = Status::deploying;
  for (const auto member : {HealthStatus::unknown, HealthStatus::unhealthy})
    if (std::ranges::any_of(all, [&](const auto& one) { return one.health_status == member; }))
      seen.health_status = member;
  const auto known =
      std::ranges::find_if(all, [](const Observation& one) { return one.host_server.has_value(); });
  if (known != all.end()) {
    seen.container_id = known->container_id;
    seen.image_digest = known->image_digest;
    seen.host_server = known->host_server;
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
  const std::vector<Part> parts = parts_of(row, live);
  std::vector<Observation> all;
  std::optional<Duration> look_again;
  for (const Part& part : parts) {
    Seen seen = observe_process(part, live, patience, now);
    look_again = sooner(look_again, seen.look_again);
    all.push_back(std::move(seen.observation));
  }
  Seen seen{summary_of(parts, all), look_again};
  if (seen.observation.status == Status::running && !seen.observation.reason &&
      has_strangers(parts, live)) {
    seen.observation.status = on_the_way(row, true);
    seen.observation.phase = "replacing";
  }
  return seen;
}

const Object* serving_pod(const Deployment& row, const Live& live) {
  const auto processes = processes_of(row);
  const bool has_web = std::ranges::find(processes, deployments::web_process,
                                         &deployments::ProcessSpec::name) != processes.end();
  const auto serving = std::ranges::find_if(live.pods, [&](const Object& pod) {
    const std::string process = manifests::process_of(pod);
    const bool counts = has_web ? process == deployments::web_process : !process.empty();
    return counts && is_ready(pod) && !is_being_deleted(pod);
  });
  return serving == live.pods.end() ? nullptr : &*serving;
}

Observation refused(const Deployment& row, const Live& live, const Trouble& why) {
  Observation seen;
  set_trouble(seen, why, serving_pod(row, live));
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
  std::set<std::string> wanted;
  for (const Object& deployment : live.deployments) wanted.insert(template_wanted_by(deployment));
  std::map<std::string, std::vector<const Object*>> asked;  // by process
  for (const Object& pod : live.pods) {
    if (is_ready(pod) || is_being_deleted(pod) || manifests::process_of(pod).empty()) continue;
    const Object& state = field(container_status(pod), {"state"});
    const auto started = instant_at(state, {"running", "startedAt"});
    if (state.contains("waiting") || (started && now - *started >= patience.listening))
      asked[manifests::process_of(pod)].push_back(&pod);
  }
  std::vector<std::string> names;
  for (auto& [process, pods] : asked) {
    std::ranges::stable_partition(
        pods, [&](const Object* pod) { return wanted.contains(template_of(*pod)); });
    for (const Object* pod : pods | std::views::take(max_pods_asked))
      names.push_back(name_of(*pod));
  }
  return names;
}

}  // namespace berth::reconcilers
