#include "reconcilers/embedded/node/kubelet.h"

#include <algorithm>

#include "reconcilers/embedded/apiserver/conditions.h"
#include "reconcilers/embedded/apiserver/refusal.h"

namespace berth::embedded {
namespace {

bool ended(const Json& pod) {
  const std::string phase = text_at(pod["status"], "phase");
  return phase == "Failed" || phase == "Succeeded";
}

std::optional<Moment> earliest(std::optional<Moment> a, std::optional<Moment> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::string unready_message(const std::string& names) {
  return names.empty() ? "" : "containers with unready status: [" + names + "]";
}

}  // namespace

std::optional<Moment> Kubelet::reconcile(const Key& key, Moment now) {
  const ObjectPtr pod = node_.store.find(key);
  if (!pod) return std::nullopt;
  PodRun& run = pods_[uid_of(*pod)];
  if (!at_path(*pod, "/metadata/deletionTimestamp").is_null()) return stop(key, *pod, run, now);
  if (text_at((*pod)["spec"], "nodeName").empty()) return schedule(key, *pod, run, now);
  if (ended(*pod)) return std::nullopt;
  return advance(key, *pod, run, now);
}

std::optional<Moment> Kubelet::schedule(const Key& key, const Json& pod, PodRun& run, Moment now) {
  if (!run.placed_at) run.placed_at = now + node_.timing.schedule;
  if (now < *run.placed_at) return run.placed_at;
  const Json& containers = at_path(pod, "/spec/containers");
  const bool fits = std::none_of(containers.begin(), containers.end(), [&](const Json& container) {
    return node_.images.of(text_at(container, "image")) == ImageBehaviour::unschedulable;
  });
  Json next = pod;
  if (fits) {
    next["spec"]["nodeName"] = node_name;
    set_condition(next["status"]["conditions"], {"PodScheduled", "True", "", ""});
    node_.events.record_scheduling(
        pod, "Binding",
        {EventType::normal, "Scheduled",
         "Successfully assigned " + key.name_space + "/" + key.name + " to " + node_name, ""});
    node_.registry.write_status(key, std::move(next), "kube-scheduler");
    return now;
  }
  const std::string why =
      "0/1 nodes are available: 1 Insufficient memory. no new claims to deallocate, preemption: "
      "0/1 "
      "nodes are available: 1 No preemption victims found for incoming pod.";
  if (!is_true(pod, "PodScheduled") && condition_of(pod, "PodScheduled").is_null())
    node_.events.record_scheduling(pod, "Scheduling",
                                   {EventType::warning, "FailedScheduling", why, ""});
  set_condition(next["status"]["conditions"], {"PodScheduled", "False", "Unschedulable", why});
  node_.registry.write_status(key, std::move(next), "kube-scheduler");
  // A real scheduler tries a pod that didn't fit again after five minutes
  // (podMaxInUnschedulablePodsDuration). Here it happens sooner, so that a test can make room by
  // changing the image's behaviour.
  run.placed_at = now + 5 * node_.timing.second;
  return run.placed_at;
}

std::string Kubelet::next_address() {
  const std::uint32_t number = ++addresses_;
  // flannel gives 10.244.0.0/16 to pods; the addresses .0 and .1 of each node aren't given to them.
  return "10.244." + std::to_string(number / 250 % 256) + "." + std::to_string(number % 250 + 2);
}

std::optional<Moment> Kubelet::advance(const Key& key, const Json& pod, PodRun& run, Moment now) {
  if (run.started_at.empty()) {
    run.started_at = timestamp();
    run.ip = next_address();
  }
  std::optional<Moment> next;
  Json with_address;
  if (text_at(pod["status"], "podIP") != run.ip) {
    with_address = pod;
    with_address["status"]["podIP"] = run.ip;
  }
  const Json& known = with_address.is_null() ? pod : with_address;
  for (const Json& spec : at_path(pod, "/spec/containers")) {
    Container& container = run.containers[text_at(spec, "name")];
    // Steps that take no time follow each other at once. A container's life has at most this many.
    for (int steps = 0; steps < 4 && container.due() && *container.due() <= now; ++steps)
      container.advance(node_, known, spec, now);
    next = earliest(next, container.due());
  }
  Json status = status_of(pod, run);
  if (status == pod["status"]) return next;
  Json changed = pod;
  changed["status"] = std::move(status);
  node_.registry.write_status(key, std::move(changed), "kubelet");
  return next;
}

Json Kubelet::status_of(const Json& pod, const PodRun& run) const {
  Json status = pod["status"];
  std::string unready;
  bool any_ran = true;
  bool all_ended = true;
  bool failed = false;
  Json statuses = Json::array();
  for (const Json& spec : at_path(pod, "/spec/containers")) {
    const Container& container = run.containers.at(text_at(spec, "name"));
    statuses.push_back(container.status(spec));
    if (!container.ready()) unready += (unready.empty() ? "" : " ") + text_at(spec, "name");
    any_ran = any_ran && container.has_run();
    all_ended = all_ended && container.exit_code().has_value();
    failed = failed || container.exit_code().value_or(0) != 0;
  }
  status["phase"] = all_ended ? (failed ? "Failed" : "Succeeded") : any_ran ? "Running" : "Pending";
  const char* ready = unready.empty() ? "True" : "False";
  const char* reason = unready.empty() ? "" : "ContainersNotReady";
  Json& conditions = status["conditions"];
  set_condition(conditions, {"PodReadyToStartContainers", "True", "", ""});
  set_condition(conditions, {"Initialized", "True", "", ""});
  set_condition(conditions, {"Ready", ready, reason, unready_message(unready)});
  set_condition(conditions, {"ContainersReady", ready, reason, unready_message(unready)});
  status["containerStatuses"] = std::move(statuses);
  status["startTime"] = run.started_at;
  status["hostIP"] = node_address;
  status["hostIPs"] = {{{"ip", node_address}}};
  status["podIP"] = run.ip;
  status["podIPs"] = {{{"ip", run.ip}}};
  status["observedGeneration"] = number_at(pod, "/metadata/generation", 1);
  return status;
}

std::optional<Moment> Kubelet::stop(const Key& key, const Json& pod, PodRun& run, Moment now) {
  if (!run.stopped_at) {
    run.stopped_at = now + node_.timing.stop;
    for (const Json& spec : at_path(pod, "/spec/containers"))
      if (const auto found = run.containers.find(text_at(spec, "name"));
          found != run.containers.end())
        found->second.stop(node_, pod, spec);
  }
  if (now < *run.stopped_at) return run.stopped_at;
  if (number_at(pod, "/metadata/deletionGracePeriodSeconds", 0) > 0 &&
      !at_path(pod, "/metadata/finalizers").empty()) {
    Json next = pod;
    next["metadata"]["deletionGracePeriodSeconds"] = 0;
    node_.registry.write_status(key, std::move(next), "kubelet");
  }
  node_.registry.finish(key);
  return std::nullopt;
}

const Json& Kubelet::spec_of(const Json& pod, const std::string& container) {
  const Json& specs = at_path(pod, "/spec/containers");
  std::string names;
  for (const Json& spec : specs) names += (names.empty() ? "" : " ") + text_at(spec, "name");
  if (container.empty() && specs.size() > 1)
    throw bad_request("a container name must be specified for pod " + name_of(pod) +
                      ", choose one of: [" + names + "]");
  const auto spec = std::find_if(specs.begin(), specs.end(), [&](const Json& one) {
    return container.empty() || text_at(one, "name") == container;
  });
  if (spec == specs.end())
    throw bad_request("container " + container + " is not valid for pod " + name_of(pod));
  return *spec;
}

const Container* Kubelet::container_of(const Json& pod, const Json& spec) const {
  const auto run = pods_.find(uid_of(pod));
  if (run == pods_.end()) return nullptr;
  const auto found = run->second.containers.find(text_at(spec, "name"));
  return found == run->second.containers.end() ? nullptr : &found->second;
}

PodLog Kubelet::log(const Json& pod, const std::string& container, bool previous) const {
  const Json& spec = spec_of(pod, container);
  const Container* found = container_of(pod, spec);
  return (found == nullptr ? Container() : *found).log(pod, spec, previous);
}

PodLog Kubelet::run_log(const Json& pod, const std::string& container, int run) const {
  const Container* found = container_of(pod, spec_of(pod, container));
  if (found == nullptr) return {.lines = {}, .run = run, .over = true};
  return found->run_log(run);
}

}  // namespace berth::embedded
