#include "reconcilers/cluster/job_pod.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "controller/base/ascii.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/runs.h"

namespace berth::reconcilers {
namespace {

using runs::End;
using runs::Run;

// The kubelet's reason for a container that couldn't be started, and those of other runtimes.
bool is_start_error(const Object& terminated) {
  const std::string reason = text_at(terminated, {"reason"});
  return reason == "StartError" || reason == "ContainerCannotRun";
}

// A container that was never started has the beginning of 1970 there.
std::optional<Instant> real_instant(const Object& object, Path path) {
  const auto at = instant_at(object, path);
  return at && to_millis(*at) > 0 ? at : std::nullopt;
}

std::string pod_words(const Object& pod) {
  const std::string reason = text_at(pod, {"status", "reason"});
  const std::string message = text_at(pod, {"status", "message"});
  return reason.empty() || message.empty() ? reason + message : reason + ": " + message;
}

bool missed_deadline(const Object& pod) {
  return text_at(pod, {"status", "reason"}) == "DeadlineExceeded";
}

std::string timed_out_words(const Run& run) {
  return "the command ran for longer than " + std::to_string(run.timeout.count()) + " seconds";
}

// The end of a container whose status says how it ended.
End end_of(const Run& run, const Object& pod, const Object& terminated, Instant now) {
  End end;
  end.at = real_instant(terminated, {"finishedAt"}).value_or(now);
  end.exit_code = int(number_at(terminated, {"exitCode"}));
  end.message = text_at(terminated, {"message"});
  end.message.erase(end.message.find_last_not_of('\n') + 1);
  const std::string reason = text_at(terminated, {"reason"});
  if (missed_deadline(pod)) {
    end.reason = runs::Reason::timed_out;
    end.message = timed_out_words(run);
  } else if (is_start_error(terminated)) {
    end.reason = runs::Reason::not_started;
    end.exit_code.reset();
    if (end.message.empty()) end.message = reason;
  } else if (reason == "ContainerStatusUnknown") {
    end.reason = runs::Reason::lost;
    end.exit_code.reset();
  } else if (!text_at(pod, {"status", "reason"}).empty() ||
             (is_being_deleted(pod) && end.exit_code != 0)) {
    // It was evicted or deleted, and didn't end by itself.
    end.reason = runs::Reason::lost;
    end.message = pod_words(pod).empty() ? "the pod was deleted" : pod_words(pod);
  } else if (reason == "OOMKilled") {
    end.reason = runs::Reason::out_of_memory;
  } else if (end.exit_code != 0) {
    end.reason = runs::Reason::command_failed;
  } else {
    end.message.clear();
  }
  return end;
}

End lost(const std::string& words, Instant now) {
  return {.at = now, .reason = runs::Reason::lost, .message = words};
}

End not_started(const std::string& words, Instant now) {
  return {.at = now, .reason = runs::Reason::not_started, .message = words};
}

// The words of the newest event with this reason.
std::string words_of_event(const std::vector<Object>& events, std::string_view reason) {
  std::string words;
  for (const Object& event : events)
    if (text_at(event, {"reason"}) == reason) words = text_at(event, {"message"});
  return words;
}

// A Job without a pod: there is none yet, or it is gone.
JobState without_pod(const Run& run, const Object& job, const std::vector<Object>& events,
                     Instant now) {
  JobState state;
  const Object& failed = condition(job, "Failed");
  const Object& complete = condition(job, "Complete");
  if (text_at(complete, {"status"}) == "True") {
    state.seen.end =
        End{.at = instant_at(job, {"status", "completionTime"}).value_or(now), .exit_code = 0};
    return state;
  }
  if (text_at(failed, {"status"}) == "True" || number_at(job, {"status", "failed"}) > 0 ||
      is_being_deleted(job) || run.started_at) {
    const std::string words = text_at(failed, {"message"});
    state.seen.end = lost(words.empty() ? "the pod is gone" : "the pod is gone: " + words, now);
    return state;
  }
  const Instant since = run.made_at.value_or(run.inserted_at);
  if (now - since < longest_start) {
    state.look_again = longest_start - std::max(now - since, Duration(0));
    return state;
  }
  const std::string words = words_of_event(events, "FailedCreate");
  state.seen.end = not_started(words.empty() ? "the cluster has made no pod" : words, now);
  return state;
}

// Whether trying the pull again changes nothing. Otherwise the registry may answer by then.
bool is_final(const std::string& pull_failure) {
  // "unknown" alone is in all messages of containerd, as the code of a gRPC error.
  constexpr auto final_words = std::to_array<std::string_view>(
      {"not found", "denied", "unauthorized", "manifest unknown", "name unknown",
       "invalid reference", "no match for platform"});
  const std::string text = lower_case(pull_failure);
  return std::ranges::any_of(final_words,
                             [&](std::string_view words) { return text.contains(words); });
}

// A pod whose container hasn't started.
JobState before_start(const Run& run, const Object& pod, const std::vector<Object>& events,
                      const Patience& patience, Instant now) {
  JobState state;
  const PodState now_is = state_of(pod, events, {}, patience, now);
  state.look_again = now_is.look_again;
  const Instant since = run.made_at.value_or(run.inserted_at);
  const bool is_late = now - since >= longest_start;
  const bool cannot_pull =
      now_is.trouble && now_is.trouble->reason == deployments::Reason::image_pull_failed;
  if (cannot_pull && now - since < pull_tried_for && !is_final(now_is.trouble->message)) {
    state.look_again = pull_tried_for - std::max(now - since, Duration(0));
  } else if (cannot_pull) {
    state.seen.end = End{
        .at = now, .reason = runs::Reason::image_pull_failed, .message = now_is.trouble->message};
  } else if (now_is.trouble && (is_late || now_is.step == PodState::Step::starting)) {
    state.seen.end = not_started(now_is.trouble->message, now);
  } else if (is_late) {
    state.seen.end = not_started("the container didn't start in time", now);
  } else {
    const Duration left = longest_start - std::max(now - since, Duration(0));
    state.look_again = std::min(state.look_again.value_or(left), left);
  }
  return state;
}

JobState while_running(const Run& run, const Object& pod, Instant started, Instant now) {
  JobState state;
  state.seen.started_at = started;
  // A pod that is deleted from a lost node runs for ever, as far as the API server knows.
  const auto grace_ends = instant_at(pod, {"metadata", "deletionTimestamp"});
  // A node whose clock is behind names a time before there was a Job.
  const Instant began = std::max(started, run.made_at.value_or(started));
  const Instant ends = began + run.timeout + late_end;
  if (grace_ends && *grace_ends + reported_within < now)
    state.seen.end = lost("the pod was deleted, and its node doesn't say how it ended", now);
  else if (now >= ends)
    state.seen.end =
        End{.at = now, .reason = runs::Reason::timed_out, .message = timed_out_words(run)};
  else
    state.look_again = grace_ends ? std::min<Duration>(reported_within, ends - now) : ends - now;
  return state;
}

}  // namespace

bool is_of_run(const Object& object) { return !label_of(object, manifests::run_label).empty(); }

std::vector<ObjectPtr> containers_of(const Cache& cache, const std::string& deployment_id) {
  std::vector<ObjectPtr> pods = cache.store(kube::pods).of_deployment(deployment_id);
  std::erase_if(pods, [](const ObjectPtr& pod) { return is_of_run(*pod); });
  return pods;
}

JobState state_of_job(const Run& run, const Object& job, const Object& pod,
                      const std::vector<Object>& events, const Patience& patience, Instant now) {
  if (pod.is_null()) return without_pod(run, job, events, now);
  const Object& status = container_status(pod);
  const Object& terminated = field(status, {"state", "terminated"});
  const auto started = real_instant(status, {"state", "running", "startedAt"});
  JobState state;
  if (terminated.is_object()) {
    state.seen.started_at = real_instant(terminated, {"startedAt"});
    state.seen.end = end_of(run, pod, terminated, now);
  } else if (is_over(pod)) {
    const std::string words = pod_words(pod);
    const bool has_run = started || run.started_at;
    if (has_run)
      state.seen.end =
          missed_deadline(pod)
              ? End{.at = now, .reason = runs::Reason::timed_out, .message = timed_out_words(run)}
              : lost(words.empty() ? "the pod has ended" : words, now);
    else
      state.seen.end = not_started(words.empty() ? "the pod has ended" : words, now);
  } else if (started) {
    state = while_running(run, pod, *started, now);
  } else {
    state = before_start(run, pod, events, patience, now);
  }
  const std::string digest = text_at(status, {"imageID"});
  if (!digest.empty()) state.seen.image_digest = digest;
  return state;
}

bool has_questions(const Object& job, const Object& pod) {
  if (pod.is_null()) return number_at(job, {"status", "failed"}) == 0;
  return !is_over(pod) && field(container_status(pod), {"state", "waiting"}).is_object();
}

}  // namespace berth::reconcilers
