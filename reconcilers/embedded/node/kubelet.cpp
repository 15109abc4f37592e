#include "reconcilers/embedded/node/kubelet.h"

#include <algorithm>
#include <set>

#include "controller/base/clock.h"
#include "controller/base/log.h"
#include "controller/base/sooner.h"
#include "reconcilers/embedded/apiserver/conditions.h"
#include "reconcilers/embedded/apiserver/quantity.h"
#include "reconcilers/embedded/apiserver/refusal.h"
#include "reconcilers/embedded/node/variables.h"

namespace berth::embedded {
namespace {

// How often the kubelet looks at what a pod has written (its housekeeping interval).
constexpr int disk_period = 10;
// The containers of a pod that is evicted get this many seconds (immediateEvictionGracePeriod).
constexpr int eviction_grace = 1;
// How long containers aren't started because others are still being removed.
constexpr std::chrono::seconds longest_clean_up{30};
constexpr std::chrono::milliseconds clean_up_look{50};
// How long a projected token lives if the pod doesn't say it (expirationSeconds).
constexpr std::chrono::seconds default_token_life{3600};
// After how many seconds tokens that couldn't be written are tried again.
constexpr int token_retry = 10;
// When nobody is waited for, and yet a container hasn't ended.
constexpr std::chrono::seconds shortest_look{1};

bool has_ended(const Json& pod) {
  const std::string phase = text_at(pod["status"], "phase");
  return phase == "Failed" || phase == "Succeeded";
}

std::string unready_message(const std::string& names) {
  return names.empty() ? "" : "containers with unready status: [" + names + "]";
}

std::int64_t whole(const Json& amounts, const char* resource) {
  const auto amount = quantity_of(at_path(amounts, (std::string("/") + resource).c_str()));
  return amount ? amount->milli() / 1000 : 0;
}

const Json& status_of_container(const Json& pod, const std::string& name) {
  static const Json none;
  for (const Json& status : at_path(pod, "/status/containerStatuses"))
    if (text_at(status, "name") == name) return status;
  return none;
}

// The pod with what its containers have, which may be less than what its spec has come to name.
Json as_given(Json pod) {
  for (Json& spec : pod["spec"]["containers"]) {
    const Json& given = at_path(status_of_container(pod, text_at(spec, "name")), "/resources");
    if (!given.is_null()) spec["resources"] = given;
  }
  return pod;
}

}  // namespace

Kubelet::Kubelet(Node& node) : node_(node), info_(node.runtime.node()) {}

// Pods that are there already. --------------------------------------------------------------------

void Kubelet::adopt(Moment now) {
  std::map<std::pair<std::string, std::string>, int> newest;  // by uid and container
  const std::vector<Run> runs = node_.runtime.runs();
  for (const Run& run : runs) {
    int& number = newest.try_emplace({run.uid, run.container}, run.number).first->second;
    number = std::max(number, run.number);
  }
  std::set<std::string> known;
  for (const auto& [key, stored] : node_.store.list_stored(Kind::pods, "")) {
    const ObjectPtr pod = node_.store.find(key);
    if (text_at((*pod)["spec"], "nodeName").empty()) continue;
    known.insert(uid_of(*pod));
    PodRun& run = pods_[uid_of(*pod)];
    if (!has_ended(*pod)) run.requests = requests_of(as_given(*pod));
    run.started_at = text_at((*pod)["status"], "startTime");
    if (const auto at = parse_iso8601(run.started_at))
      run.began = now - std::chrono::duration_cast<std::chrono::milliseconds>(system_time() - *at);
    run.ip = text_at((*pod)["status"], "podIP");
    if (text_at((*pod)["status"], "reason") == "Evicted")
      run.evicted = text_at((*pod)["status"], "message");
    for (const Json& spec : at_path(*pod, "/spec/containers")) {
      const std::string name = text_at(spec, "name");
      const auto number = newest.find({uid_of(*pod), name});
      run.containers[name].adopt({node_, *pod, spec, now}, status_of_container(*pod, name),
                                 number == newest.end() ? -1 : number->second);
    }
  }
  std::set<std::string> removed;
  for (const Run& run : runs) {
    if (known.contains(run.uid)) {
      // The node keeps the last two runs.
      if (run.number < newest.at({run.uid, run.container}) - 1) node_.runtime.remove(run);
      continue;
    }
    strangers_.push_back(run);
    if (removed.insert(run.uid).second) node_.runtime.remove(run.name_space, run.uid);
  }
  if (!removed.empty())
    log::info("containers of pods that no longer exist are removed",
              {{"pods", std::int64_t(removed.size())}});
  strangers_until_ = now + longest_clean_up;
  std::set<std::string> spaces;
  for (const auto& [key, stored] : node_.store.list_stored(Kind::network_policies, ""))
    spaces.insert(key.name_space);
  for (const std::string& name_space : spaces) policies_changed(name_space);
}

bool Kubelet::strangers_are_gone(Moment now) {
  if (strangers_.empty()) return true;
  std::erase_if(strangers_, [&](const Run& run) {
    std::optional<Moment> again;
    return node_.runtime.state(run, now, again).stage == RunState::Stage::unknown;
  });
  if (now >= strangers_until_) strangers_.clear();
  return strangers_.empty();
}

void Kubelet::policies_changed(const std::string& name_space) {
  node_.runtime.set_policies(name_space, node_.store.list(Kind::network_policies, name_space));
}

void Kubelet::namespace_deleted(const std::string& name) { node_.runtime.remove_namespace(name); }

void Kubelet::forget(const Json& pod) {
  if (pods_.erase(uid_of(pod)) > 0) node_.runtime.remove(namespace_of(pod), uid_of(pod));
}

// The scheduler. ----------------------------------------------------------------------------------

std::optional<Moment> Kubelet::reconcile(const Key& key, Moment now) {
  const ObjectPtr pod = node_.store.find(key);
  if (!pod) return std::nullopt;
  PodRun& run = pods_[uid_of(*pod)];
  if (!at_path(*pod, "/metadata/deletionTimestamp").is_null()) return stop(key, *pod, run, now);
  if (text_at((*pod)["spec"], "nodeName").empty()) return schedule(key, *pod, run, now);
  if (!run.evicted.empty()) return evict(key, *pod, run, now);
  if (has_ended(*pod)) return std::nullopt;
  if (const auto deadline = deadline_of(*pod, run); deadline && now >= *deadline)
    return expire(key, *pod, run, now);
  return advance(key, *pod, run, now);
}

Kubelet::Requests Kubelet::requests_of(const Json& pod) {
  Requests sum;
  for (const Json& container : at_path(pod, "/spec/containers")) {
    const Json& requests = at_path(container, "/resources/requests");
    if (const auto cpu = quantity_of(at_path(requests, "/cpu"))) sum.cpu_millicores += cpu->milli();
    sum.memory_bytes += whole(requests, "memory");
  }
  return sum;
}

std::string Kubelet::no_room_for(const Json& pod) const {
  if (const std::string why = node_.runtime.no_room_for(pod); !why.empty()) return why;
  return info_.counts_requests ? no_room_beside(uid_of(pod), requests_of(pod)) : "";
}

std::string Kubelet::no_room_beside(const std::string& own, const Requests& wanted) const {
  Requests sum = wanted;
  std::int64_t pods = 1;
  for (const auto& [uid, run] : pods_) {
    if (uid == own) continue;
    if (run.requests.memory_bytes > 0 || run.requests.cpu_millicores > 0) ++pods;
    sum.cpu_millicores += run.requests.cpu_millicores;
    sum.memory_bytes += run.requests.memory_bytes;
  }
  if (pods > info_.pods) return "Too many pods";
  if (sum.cpu_millicores > info_.cpu_millicores) return "Insufficient cpu";
  if (sum.memory_bytes > static_cast<std::int64_t>(info_.memory_bytes))
    return "Insufficient memory";
  return "";
}

void Kubelet::take_requests(const Json& pod, PodRun& run) const {
  const Requests wanted = requests_of(pod);
  run.no_room.clear();
  if (wanted == run.requests) return;
  if (info_.counts_requests) run.no_room = no_room_beside(uid_of(pod), wanted);
  if (run.no_room.empty()) run.requests = wanted;
}

std::optional<Moment> Kubelet::schedule(const Key& key, const Json& pod, PodRun& run, Moment now) {
  // Only what has another scheduler's name waits for that one.
  if (text_at(pod["spec"], "schedulerName") != "default-scheduler") return std::nullopt;
  if (!run.placed_at) run.placed_at = now + node_.timing.schedule;
  if (now < *run.placed_at) return run.placed_at;
  const std::string reason = no_room_for(pod);
  Json next = pod;
  if (reason.empty()) {
    run.requests = requests_of(pod);
    next["spec"]["nodeName"] = info_.name;
    set_condition(next["status"]["conditions"], {"PodScheduled", "True", "", ""});
    node_.events.record_scheduling(
        pod, "Binding",
        {EventType::normal, "Scheduled",
         "Successfully assigned " + key.name_space + "/" + key.name + " to " + info_.name, ""});
    node_.registry.write_status(key, std::move(next), "kube-scheduler");
    return now;
  }
  const std::string why =
      "0/1 nodes are available: 1 " + reason +
      ". no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims "
      "found for incoming pod.";
  if (!is_true(pod, "PodScheduled") && condition_of(pod, "PodScheduled").is_null())
    node_.events.record_scheduling(pod, "Scheduling",
                                   {EventType::warning, "FailedScheduling", why, ""});
  set_condition(next["status"]["conditions"], {"PodScheduled", "False", "Unschedulable", why});
  node_.registry.write_status(key, std::move(next), "kube-scheduler");
  // A real scheduler tries a pod that didn't fit again after five minutes
  // (podMaxInUnschedulablePodsDuration), or when something has made room. Here it is tried every
  // five seconds.
  run.placed_at = now + 5 * node_.timing.second;
  return run.placed_at;
}

// The kubelet. ------------------------------------------------------------------------------------

std::optional<Moment> Kubelet::advance(const Key& key, const Json& pod, PodRun& run, Moment now) {
  if (run.started_at.empty()) run.started_at = timestamp();
  if (!run.began) run.began = now;
  if (!strangers_are_gone(now)) {
    // What runs is looked at all the same.
    const bool runs = std::any_of(run.containers.begin(), run.containers.end(),
                                  [](const auto& one) { return one.second.running(); });
    if (!runs) return now + clean_up_look;
  }
  take_requests(pod, run);
  std::optional<Moment> next = sooner(deadline_of(pod, run), write_tokens(pod, run, now));
  for (const Json& spec : at_path(pod, "/spec/containers")) {
    Container& container = run.containers[text_at(spec, "name")];
    container.advance({node_, pod, spec, now, run.no_room.empty(), run.has_tokens});
    if (!container.address().empty()) run.ip = container.address();
    next = sooner(next, container.due());
  }
  if (node_.runtime.measures_disk()) {
    if (run.evicted = excess(pod, run, now); !run.evicted.empty()) return evict(key, pod, run, now);
    next = sooner(next, run.disk_look);
  }
  Json status = status_of(pod, run);
  if (const std::string phase = text_at(status, "phase"); phase == "Failed" || phase == "Succeeded")
    run.requests = {};
  write(key, pod, std::move(status));
  return next;
}

// A kubelet requests a token anew once four fifths of its life are over (kubernetes.io, "Configure
// Service Accounts for Pods"). The first ones after berthd's start replace those of another key.
std::optional<Moment> Kubelet::write_tokens(const Json& pod, PodRun& run, Moment now) {
  if (run.tokens_due && now < *run.tokens_due) return run.tokens_due;
  std::vector<TokenFile> files;
  std::chrono::seconds shortest = default_token_life;
  for (const Json& volume : at_path(pod, "/spec/volumes"))
    for (const Json& source : at_path(volume, "/projected/sources")) {
      const Json& wanted = at_path(source, "/serviceAccountToken");
      const std::string audience = text_at(wanted, "audience");
      if (audience.empty()) continue;  // one for the API server, which this one doesn't take
      const std::chrono::seconds life(
          number_at(wanted, "/expirationSeconds", default_token_life.count()));
      shortest = std::min(shortest, life);
      files.push_back({.volume = text_at(volume, "name"),
                       .path = text_at(wanted, "path"),
                       .token = node_.tokens.issue(pod, audience, life, system_time())});
    }
  if (files.empty()) {
    run.has_tokens = true;
    return std::nullopt;
  }
  if (const auto failure = node_.runtime.write_tokens(uid_of(pod), files)) {
    log::warning("the tokens of a pod couldn't be written",
                 {{"pod", name_of(pod)}, {"error", failure->why}});
    node_.events.record(
        pod, "kubelet",
        {EventType::warning, "FailedMount", failed_set_up(failure->volume, failure->why), ""});
    run.tokens_due = now + token_retry * node_.timing.second;
  } else {
    run.has_tokens = true;
    run.tokens_due = now + shortest * 4 / 5;
  }
  return run.tokens_due;
}

void Kubelet::write(const Key& key, const Json& pod, Json status) {
  if (status == pod["status"]) return;
  Json changed = pod;
  changed["status"] = std::move(status);
  node_.registry.write_status(key, std::move(changed), "kubelet");
}

// (kubernetes.io, "Resize CPU and Memory Resources assigned to Containers", "Pod resize status")
void Kubelet::set_resize_conditions(Json& conditions, const PodRun& run) {
  bool is_resizing = false;
  std::string failure;
  for (const auto& [name, container] : run.containers) {
    is_resizing = is_resizing || container.is_resizing();
    if (failure.empty()) failure = container.resize_failure();
  }
  const auto set_or_remove = [&](bool is_so, const Condition& one) {
    if (is_so) return set_condition(conditions, one);
    std::erase_if(conditions.get_ref<Json::array_t&>(),
                  [&](const Json& known) { return text_at(known, "type") == one.type; });
  };
  set_or_remove(!run.no_room.empty(), {"PodResizePending", "True", "Deferred",
                                       "Node didn't have enough capacity: " + run.no_room});
  set_or_remove(is_resizing,
                {"PodResizeInProgress", "True", failure.empty() ? "" : "Error", failure});
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
  set_resize_conditions(conditions, run);
  status["containerStatuses"] = std::move(statuses);
  status["startTime"] = run.started_at;
  status["hostIP"] = info_.address;
  status["hostIPs"] = {{{"ip", info_.address}}};
  if (!run.ip.empty()) {
    status["podIP"] = run.ip;
    status["podIPs"] = {{{"ip", run.ip}}};
  }
  status["observedGeneration"] = number_at(pod, "/metadata/generation", 1);
  return status;
}

// The limits of local ephemeral storage, in the order in which the kubelet checks them
// (localStorageEviction of its eviction manager). Returns the message of the first that is
// exceeded.
std::string Kubelet::excess(const Json& pod, PodRun& run, Moment now) const {
  if (run.disk_look && now < *run.disk_look) return "";
  run.disk_look = now + disk_period * node_.timing.second;
  std::int64_t written = 0;
  std::int64_t limit = 0;
  bool all_limited = true;
  std::map<std::string, std::int64_t> volumes;
  std::string of_container;
  for (const Json& spec : at_path(pod, "/spec/containers")) {
    const Json& limits = at_path(spec, "/resources/limits");
    const std::int64_t own_limit = whole(limits, "ephemeral-storage");
    limit += own_limit;
    all_limited = all_limited && own_limit > 0;
    const auto usage = this->usage(pod, spec);
    if (!usage) continue;
    const auto own = static_cast<std::int64_t>(usage->disk_bytes.value_or(0));
    written += own;
    for (const auto& [name, bytes] : usage->volume_bytes)
      volumes[name] = std::max(volumes[name], static_cast<std::int64_t>(bytes));
    if (own_limit > 0 && own > own_limit && of_container.empty())
      of_container = "Container " + text_at(spec, "name") +
                     " exceeded its local ephemeral storage limit \"" +
                     quantity_of(limits["ephemeral-storage"])->text() + "\". ";
  }
  for (const Json& volume : at_path(pod, "/spec/volumes")) {
    const auto size = quantity_of(at_path(volume, "/emptyDir/sizeLimit"));
    const std::string name = text_at(volume, "name");
    if (size && size->milli() > 0 && volumes[name] > size->milli() / 1000)
      return "Usage of EmptyDir volume \"" + name + "\" exceeds the limit \"" + size->text() +
             "\". ";
  }
  for (const auto& [name, bytes] : volumes) written += bytes;
  if (all_limited && limit > 0 && written > limit) {
    Quantity sum;
    for (const Json& spec : at_path(pod, "/spec/containers"))
      sum = sum + *quantity_of(at_path(spec, "/resources/limits/ephemeral-storage"));
    return "Pod ephemeral local storage usage exceeds the total limit of containers " + sum.text() +
           ". ";
  }
  return of_container;
}

std::optional<Moment> Kubelet::evict(const Key& key, const Json& pod, PodRun& run, Moment now) {
  Json status = status_of(pod, run);
  const bool told = text_at(status, "reason") == "Evicted";
  if (!told) {
    node_.events.record(pod, "kubelet", {EventType::warning, "Evicted", run.evicted, ""});
    set_condition(status["conditions"],
                  {"DisruptionTarget", "True", "TerminationByKubelet", run.evicted});
  }
  const auto next =
      end(pod, run, eviction_grace * node_.timing.second, Container::Ending::at_once, now);
  if (!next) {
    const Json conditions = status["conditions"];
    status = status_of(pod, run);
    status["conditions"] = conditions;
    for (const char* type : {"Ready", "ContainersReady"})
      set_condition(status["conditions"], {type, "False", "PodFailed", ""});
  }
  status["phase"] = "Failed";
  status["reason"] = "Evicted";
  status["message"] = run.evicted;
  write(key, pod, std::move(status));
  if (next) return next;
  run.evicted.clear();
  run.requests = {};
  // It wrote too much, so that nothing of it is kept.
  node_.runtime.remove(namespace_of(pod), uid_of(pod));
  return std::nullopt;
}

std::optional<Moment> Kubelet::deadline_of(const Json& pod, const PodRun& run) const {
  const Json& seconds = at_path(pod, "/spec/activeDeadlineSeconds");
  if (!seconds.is_number_integer() || !run.began) return std::nullopt;
  return *run.began + seconds.get<std::int64_t>() * node_.timing.second;
}

// The containers get the pod's grace period, and the pod has failed only when they have ended
// (kubernetes, pkg/kubelet/active_deadline.go).
std::optional<Moment> Kubelet::expire(const Key& key, const Json& pod, PodRun& run, Moment now) {
  constexpr const char* reason = "DeadlineExceeded";
  constexpr const char* message = "Pod was active on the node longer than the specified deadline";
  const bool told = std::any_of(run.containers.begin(), run.containers.end(),
                                [](const auto& one) { return one.second.is_ending(); });
  if (!told) node_.events.record(pod, "kubelet", {EventType::normal, reason, message, ""});
  const auto grace = number_at(pod, "/spec/terminationGracePeriodSeconds", 30);
  if (const auto next =
          end(pod, run, grace * node_.timing.second, Container::Ending::known_after_a_crash, now))
    return next;
  Json status = status_of(pod, run);
  for (const char* type : {"Ready", "ContainersReady"})
    set_condition(status["conditions"], {type, "False", "PodFailed", ""});
  status["phase"] = "Failed";
  status["reason"] = reason;
  status["message"] = message;
  run.requests = {};
  write(key, pod, std::move(status));
  return std::nullopt;
}

std::optional<Moment> Kubelet::end(const Json& pod, PodRun& run, std::chrono::milliseconds grace,
                                   Container::Ending ending, Moment now) {
  std::optional<Moment> next;
  bool ended = true;
  for (const Json& spec : at_path(pod, "/spec/containers")) {
    const auto found = run.containers.find(text_at(spec, "name"));
    if (found == run.containers.end() || found->second.end({node_, pod, spec, now}, grace, ending))
      continue;
    ended = false;
    next = sooner(next, found->second.due());
  }
  if (ended) return std::nullopt;
  return next.value_or(now + shortest_look);
}

std::optional<Moment> Kubelet::stop(const Key& key, const Json& pod, PodRun& run, Moment now) {
  const auto grace = number_at(pod, "/metadata/deletionGracePeriodSeconds", 30);
  if (const auto next =
          end(pod, run, grace * node_.timing.second, Container::Ending::known_after_a_crash, now))
    return next;
  // A kubelet says how the containers have ended before the pod goes, also in its DELETED event
  // (kubernetes, pkg/kubelet, SyncTerminatedPod).
  Json last = pod;
  if (!run.containers.empty()) last["status"] = status_of(pod, run);
  if (has_ended(pod)) last["status"]["phase"] = pod["status"]["phase"];
  if (grace > 0 && !at_path(pod, "/metadata/finalizers").empty())
    last["metadata"]["deletionGracePeriodSeconds"] = 0;
  node_.registry.write_status(key, std::move(last), "kubelet");
  node_.registry.finish(key);
  return std::nullopt;
}

// What others ask for. ----------------------------------------------------------------------------

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

const Kubelet::PodRun* Kubelet::find(const Json& pod) const {
  const auto run = pods_.find(uid_of(pod));
  return run == pods_.end() ? nullptr : &run->second;
}

Run Kubelet::logged_run(const Json& pod, const std::string& container, bool previous) const {
  const Json& spec = spec_of(pod, container);
  static const Container none;
  const PodRun* run = find(pod);
  if (run == nullptr) return none.logged_run(pod, spec, previous);
  const auto found = run->containers.find(text_at(spec, "name"));
  return (found == run->containers.end() ? none : found->second).logged_run(pod, spec, previous);
}

std::optional<Run> Kubelet::running_run(const Json& pod, const std::string& container) const {
  const PodRun* run = find(pod);
  if (run == nullptr) return std::nullopt;
  for (const Json& spec : at_path(pod, "/spec/containers")) {
    if (text_at(spec, "name") != container) continue;
    const auto found = run->containers.find(container);
    if (found == run->containers.end() || !found->second.running()) return std::nullopt;
    return found->second.run_of(pod, spec);
  }
  return std::nullopt;
}

std::optional<Usage> Kubelet::usage(const Json& pod, const Json& spec) const {
  const PodRun* run = find(pod);
  if (run == nullptr) return std::nullopt;
  const auto found = run->containers.find(text_at(spec, "name"));
  if (found == run->containers.end() || !found->second.running()) return std::nullopt;
  return node_.runtime.usage(found->second.run_of(pod, spec));
}

std::optional<std::string> Kubelet::address(const Json& pod, int port) const {
  const PodRun* run = find(pod);
  if (run == nullptr) return std::nullopt;
  for (const Json& spec : at_path(pod, "/spec/containers")) {
    const auto found = run->containers.find(text_at(spec, "name"));
    if (found == run->containers.end() || !found->second.running()) continue;
    if (auto address = node_.runtime.address(found->second.run_of(pod, spec), port)) return address;
  }
  return std::nullopt;
}

}  // namespace berth::embedded
