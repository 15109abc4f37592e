#include "reconcilers/cluster/runs.h"

#include <algorithm>

#include "manifests/manifests.h"
#include "reconcilers/cluster/pod_trouble.h"

namespace berth::reconcilers {
namespace {

using metering::Run;

const Run* find(const std::vector<Run>& runs, const std::string& name) {
  const auto found = std::ranges::find(runs, name, &Run::name);
  return found == runs.end() ? nullptr : &*found;
}

std::string name_of_run(const Object& pod, std::int64_t number) {
  return uid_of(pod) + "/" + std::to_string(number);
}

// What usage calls the pod's containers: by their process, and those of jobs all the same.
std::string process_or_run(const Object& pod) {
  std::string process = manifests::process_of(pod);
  return process.empty() ? metering::run_process : process;
}

// The run of a state with `startedAt`, and `finishedAt` if it has ended. A container that was
// created but never started has the beginning of 1970 there (the kubelet's StartError); one that
// the kubelet has lost has no times (ContainerStatusUnknown).
std::optional<Run> run_of(const Object& pod, std::int64_t number, const Object& state,
                          bool has_ended) {
  Run run;
  const auto started_at = instant_at(state, {"startedAt"});
  const auto ended_at = instant_at(state, {"finishedAt"});
  if (number < 0 || !started_at || to_millis(*started_at) <= 0) return std::nullopt;
  if (has_ended && (!ended_at || to_millis(*ended_at) <= 0)) return std::nullopt;
  run.name = name_of_run(pod, number);
  run.process = process_or_run(pod);
  run.started_at = *started_at;
  if (has_ended) run.ended_at = ended_at;
  return run;
}

// The number of the run that lastState is about. While a container waits to be started again, its
// status still has the id of the run that ended last, and that run's number. A kubelet that has
// lost sight of the container for a moment names no id, and may say the number of either run;
// nothing is read of that, as the next status says it again.
std::optional<std::int64_t> number_of_last(const Object& status) {
  const std::int64_t restarts = number_at(status, {"restartCount"});
  const std::string present = text_at(status, {"containerID"});
  const std::string last = text_at(status, {"lastState", "terminated", "containerID"});
  if (present.empty() && !last.empty()) return std::nullopt;
  const bool waits = field(status, {"state", "waiting"}).is_object();
  const bool is_last_known = present.empty() || last.empty() ? waits : present == last;
  return is_last_known ? restarts : restarts - 1;
}

}  // namespace

std::vector<Run> runs_of(const Object& pod, Instant now) {
  std::vector<Run> runs;
  const Object& status = container_status(pod);
  if (status.is_null() || uid_of(pod).empty()) return runs;
  const auto add = [&](std::int64_t number, const Object& state, bool has_ended) {
    if (!state.is_object()) return;
    if (auto run = run_of(pod, number, state, has_ended)) runs.push_back(*std::move(run));
  };
  const std::int64_t restarts = number_at(status, {"restartCount"});
  if (const auto last = number_of_last(status))
    add(*last, field(status, {"lastState", "terminated"}), true);
  add(restarts, field(status, {"state", "terminated"}), true);
  // A pod that has ended for good may still say that its container runs, if its node was lost.
  const Object& state = field(status, {"state", "running"});
  if (is_over(pod) || !state.is_object()) return runs;
  auto present = run_of(pod, restarts, state, false);
  if (!present) return runs;
  const auto grace_ends = instant_at(pod, {"metadata", "deletionTimestamp"});
  if (grace_ends && *grace_ends + reported_within < now)
    present->ended_at = std::max(*grace_ends, present->started_at);
  runs.push_back(*std::move(present));
  return runs;
}

bool are_recorded(const std::vector<Run>& runs, const std::vector<Run>& recorded) {
  const bool all_known = std::ranges::all_of(runs, [&](const Run& run) {
    const Run* known = find(recorded, run.name);
    return known && known->ended_at.has_value() == run.ended_at.has_value();
  });
  return all_known && std::ranges::all_of(recorded, [&](const Run& run) {
           return run.ended_at || find(runs, run.name);
         });
}

}  // namespace berth::reconcilers
