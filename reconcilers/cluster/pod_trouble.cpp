#include "reconcilers/cluster/pod_trouble.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "controller/base/ascii.h"

namespace berth::reconcilers {
namespace {

using deployments::Reason;

constexpr std::string_view container_name = "app";

// The kubelet's reasons for an image that can't be pulled (kubernetes,
// pkg/kubelet/images/types.go).
constexpr std::array pull_failures = {
    "ErrImagePull",      "ImagePullBackOff",    "InvalidImageName",         "ErrImageNeverPull",
    "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"};

// The kubelet's reasons for a container that can't be created or started from its image.
constexpr std::array start_failures = {"CreateContainerConfigError", "CreateContainerError",
                                       "RunContainerError", "PreCreateHookError",
                                       "PostStartHookError"};

// Phrases, in lower case, by which programs complain that they don't run as root.
constexpr std::array root_words = {
    "permission denied", "operation not permitted", "eacces",      "eperm",
    "must be root",      "must be run as root",     "run as root", "requires root"};

// Phrases, in lower case, with which the kubelet and its container runtime report that they were
// too busy. The kubelet tries again, and the phrases say nothing about the image.
constexpr std::array busy_words = {"pull qps exceeded", "context deadline exceeded",
                                   "code = deadlineexceeded", "timed out waiting for the condition",
                                   "failed to reserve container name"};

// The kubelet's message contains this, in lower case, if it evicts a pod because the pod itself
// exceeds a limit (kubernetes, pkg/kubelet/eviction).
constexpr std::string_view excess_word = "exceed";

template <typename Words>
bool is_one_of(const Words& words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

template <typename Words>
bool has_one_of(const Words& words, const std::string& message) {
  const std::string text = lower_case(message);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

bool speaks_of_root(const std::string& message) { return has_one_of(root_words, message); }

std::string event_time(const Object& event) {
  for (const std::string_view name : {"lastTimestamp", "eventTime", "firstTimestamp"})
    if (const std::string at = text_at(event, {name}); !at.empty()) return at;
  return text_at(event, {"metadata", "creationTimestamp"});
}

// The newest event with this reason whose text contains `about`; null if there is none.
const Object& newest_event(const std::vector<Object>& events, std::string_view reason,
                           std::string_view about = "") {
  static const Object none;
  const Object* newest = nullptr;
  for (const Object& event : events) {
    if (text_at(event, {"reason"}) != reason) continue;
    if (text_at(event, {"message"}).find(about) == std::string::npos) continue;
    if (!newest || event_time(*newest) <= event_time(event)) newest = &event;
  }
  return newest ? *newest : none;
}

std::string words_of(const Object& event) { return text_at(event, {"message"}); }

// Reports `trouble` once `patience` has passed since `since`. Until then only says when to look
// again.
void after(PodState& state, std::optional<Instant> since, Duration patience, Instant now,
           Trouble trouble) {
  const Duration waited = since ? now - *since : Duration(0);
  if (waited >= patience)
    state.trouble = std::move(trouble);
  else
    state.look_again = patience - std::max(waited, Duration(0));
}

Trouble pull_trouble(const Object& waiting, const std::vector<Object>& events) {
  // The back-off's own message may say no more than that it waits; the event has the registry's
  // answer.
  std::string message = words_of(newest_event(events, "Failed", "Failed to pull image"));
  if (message.empty()) message = text_at(waiting, {"message"});
  if (message.empty()) message = text_at(waiting, {"reason"});
  return {Reason::image_pull_failed, message};
}

Trouble start_trouble(const Object& waiting) {
  const std::string message = text_at(waiting, {"message"});
  return {speaks_of_root(message) ? Reason::image_needs_root : Reason::crash_loop,
          message.empty() ? text_at(waiting, {"reason"}) : message};
}

// Returns the trouble, or nothing if its message only says that the node was too busy.
std::optional<Trouble> unless_busy(Trouble trouble) {
  if (has_one_of(busy_words, trouble.message)) return std::nullopt;
  return trouble;
}

Trouble crash_trouble(const Object& terminated, const deployments::ProcessSpec& process) {
  if (text_at(terminated, {"reason"}) == "OOMKilled")
    return {Reason::out_of_memory, "the container was killed: it needs more than " +
                                       std::to_string(process.memory_mb.value_or(0)) + " MB"};
  const std::string words = text_at(terminated, {"message"});
  std::string message =
      "the container exited with code " + std::to_string(number_at(terminated, {"exitCode"}));
  if (const auto signal = number_at(terminated, {"signal"}); signal != 0)
    message += " (signal " + std::to_string(signal) + ")";
  if (!words.empty()) message += ": " + words;
  return {speaks_of_root(words) ? Reason::image_needs_root : Reason::crash_loop, message};
}

Trouble silent_trouble(const deployments::ProcessSpec& process, const std::vector<Object>& events) {
  const std::string port = " on port " + std::to_string(process.port.value_or(0));
  const std::string& path = process.health_path;
  std::string message =
      path.empty() ? "nothing listens" + port
                   : "GET " + path + port + " does not answer with a status from 200 to 399";
  constexpr int first_unprivileged_port = 1024;
  if (process.port < first_unprivileged_port)
    message +=
        "; containers run without privileges and can't listen on a port below 1024: let it "
        "listen on a higher one, and set `port` to that";
  if (const std::string words = words_of(newest_event(events, "Unhealthy")); !words.empty())
    message += ": " + words;
  return {Reason::port_not_listening, message};
}

void look_at_waiting(PodState& state, const Object& status, const std::vector<Object>& events,
                     const deployments::ProcessSpec& process) {
  const Object& waiting = field(status, {"state", "waiting"});
  const std::string reason = text_at(waiting, {"reason"});
  const Object& last = field(status, {"lastState", "terminated"});
  state.step = PodState::Step::pulling;
  if (is_one_of(pull_failures, reason)) {
    state.trouble = unless_busy(pull_trouble(waiting, events));
  } else if (is_one_of(start_failures, reason)) {
    state.step = PodState::Step::starting;
    state.trouble = unless_busy(start_trouble(waiting));
  } else if (last.is_object()) {
    state.step = PodState::Step::starting;
    state.trouble = crash_trouble(last, process);
  } else if (!newest_event(events, "Pulled").is_null()) {
    state.step = PodState::Step::starting;
  }
}

// When the pod stopped being ready while its container went on running. Only failing probes do that
// to a pod whose node reports; a pod that has never been ready has been unready since before its
// container was started.
std::optional<Instant> probes_failing_since(const Object& pod, Instant started) {
  const auto changed = instant_at(condition(pod, "Ready"), {"lastTransitionTime"});
  return changed && *changed > started ? changed : std::nullopt;
}

// How long a container that was started just now may take to listen, judged by how long its node
// took to start it. A later run was started after a pause, which says nothing about the node.
Duration time_to_listen(const Object& pod, Instant started, const Patience& patience) {
  const auto scheduled = instant_at(condition(pod, "PodScheduled"), {"lastTransitionTime"});
  const bool first_run = number_at(container_status(pod), {"restartCount"}) == 0;
  if (!scheduled || !first_run) return patience.listening;
  return std::clamp(started - *scheduled, patience.listening,
                    std::max(patience.listening, patience.longest_listening));
}

bool probe_failed_after(const std::vector<Object>& events, Instant time) {
  const auto at = parse_iso8601(event_time(newest_event(events, "Unhealthy")));
  return at && *at >= std::chrono::floor<std::chrono::seconds>(time);  // events have whole seconds
}

// Looks for the trouble of a container that runs and isn't ready. A proof that its probes fail is
// the pod's condition, if the pod was ready before, or else an event from the second half of the
// time that the container has: of a pod's events, the kubelet sends only the first twenty or so at
// once. Without such a proof no trouble is reported, because a busy node reports late.
void look_at_silence(PodState& state, const Object& pod, const std::vector<Object>& events,
                     const deployments::ProcessSpec& process, const Patience& patience,
                     Instant started, Instant now) {
  const auto failing_since = probes_failing_since(pod, started);
  const Duration allowed =
      failing_since ? patience.longest_listening : time_to_listen(pod, started, patience);
  const Instant since = failing_since.value_or(started);
  const Duration waited = std::max(now - since, Duration(0));
  if (waited < allowed)
    state.look_again = allowed - waited;
  else if (failing_since || probe_failed_after(events, since + allowed / 2))
    state.trouble = silent_trouble(process, events);
  else
    state.look_again = std::max(patience.listening, waited / 2);
}

void look_at_running(PodState& state, const Object& pod, const std::vector<Object>& events,
                     const deployments::ProcessSpec& process, const Patience& patience,
                     Instant now) {
  const Object& status = container_status(pod);
  // If the container is ready and the pod isn't, its node has stopped reporting (kubernetes.io,
  // "Nodes", "Node heartbeats"). Either that passes, or the pod is created again elsewhere.
  state.step = flag_at(status, {"ready"}) ? PodState::Step::ready
               : process.port             ? PodState::Step::probing
                                          : PodState::Step::starting;
  if (state.step == PodState::Step::ready && process.port) return;
  const auto started = instant_at(status, {"state", "running", "startedAt"});
  if (!started) return;
  const Object& last = field(status, {"lastState", "terminated"});
  if (last.is_object() && now - *started < patience.after_crash) {
    state.trouble = crash_trouble(last, process);
    state.look_again = patience.after_crash - std::max(now - *started, Duration(0));
    return;
  }
  // Without a port there is no probe that could fail.
  if (process.port) look_at_silence(state, pod, events, process, patience, *started, now);
}

void look_at_scheduling(PodState& state, const Object& pod, const Patience& patience, Instant now) {
  const Object& scheduled = condition(pod, "PodScheduled");
  // With other reasons the scheduler hasn't looked for a node yet, or failed itself.
  if (text_at(scheduled, {"status"}) != "False" ||
      text_at(scheduled, {"reason"}) != "Unschedulable")
    return;
  after(state, instant_at(scheduled, {"lastTransitionTime"}), patience.scheduling, now,
        {Reason::unschedulable, text_at(scheduled, {"message"})});
}

// Returns the trouble if the pod was ended because it took more than it may. Returns nothing if the
// cause is unknown or lies with the node, because the pod that replaces it may well run.
std::optional<Trouble> end_of_pod(const Object& pod) {
  const std::string reason = text_at(pod, {"status", "reason"});
  const std::string message = text_at(pod, {"status", "message"});
  if (lower_case(message).find(excess_word) == std::string::npos) return std::nullopt;
  return Trouble{Reason::crash_loop, reason.empty() ? message : reason + ": " + message};
}

}  // namespace

bool is_ready(const Object& pod) { return text_at(condition(pod, "Ready"), {"status"}) == "True"; }

bool is_over(const Object& pod) {
  const std::string phase = text_at(pod, {"status", "phase"});
  return phase == "Failed" || phase == "Succeeded";
}

const Object& container_status(const Object& pod) {
  static const Object none;
  const Object& all = field(pod, {"status", "containerStatuses"});
  if (!all.is_array()) return none;
  const auto found = std::find_if(all.begin(), all.end(), [](const Object& status) {
    return text_at(status, {"name"}) == container_name;
  });
  return found == all.end() ? none : *found;
}

std::vector<deployments::ProcessSpec> processes_of(const deployments::Deployment& row) {
  auto all = deployments::processes_of(row.container);
  for (deployments::ProcessSpec& process : all) {
    process.memory_mb =
        std::min(process.memory_mb.value_or(row.memory_limit_mb), row.memory_limit_mb);
    process.cpu_millicores = std::min(process.cpu_millicores.value_or(row.cpu_limit_millicores),
                                      row.cpu_limit_millicores);
  }
  return all;
}

PodState state_of(const Object& pod, const std::vector<Object>& events,
                  const deployments::ProcessSpec& process, const Patience& patience, Instant now) {
  PodState state;
  const Object& status = container_status(pod);
  const Object& terminated = field(status, {"state", "terminated"});
  const bool running = field(status, {"state", "running"}).is_object();
  const bool restarted = field(status, {"lastState", "terminated"}).is_object();
  state.has_started = running || restarted || terminated.is_object();
  if (is_ready(pod) && process.port) {
    state.step = PodState::Step::ready;
  } else if (is_over(pod)) {
    state.trouble = end_of_pod(pod);
  } else if (terminated.is_object()) {
    state.step = PodState::Step::starting;
    state.trouble = crash_trouble(terminated, process);
  } else if (running) {
    look_at_running(state, pod, events, process, patience, now);
  } else if (field(status, {"state", "waiting"}).is_object()) {
    look_at_waiting(state, status, events, process);
  } else if (text_at(condition(pod, "PodScheduled"), {"status"}) == "True" ||
             !text_at(pod, {"spec", "nodeName"}).empty()) {
    state.step = PodState::Step::pulling;
  } else {
    look_at_scheduling(state, pod, patience, now);
  }
  return state;
}

}  // namespace berth::reconcilers
