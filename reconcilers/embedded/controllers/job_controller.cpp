#include "reconcilers/embedded/controllers/job_controller.h"

#include <algorithm>

#include "controller/base/clock.h"
#include "controller/base/sooner.h"
#include "reconcilers/embedded/apiserver/conditions.h"
#include "reconcilers/embedded/apiserver/object_life.h"
#include "reconcilers/embedded/apiserver/refusal.h"

namespace berth::embedded {
namespace {

constexpr const char* job_component = "job-controller";

Json pod_of_job(const Json& job) {
  const Json& pod_template = at_path(job, "/spec/template");
  Json pod{{"apiVersion", "v1"},
           {"kind", "Pod"},
           {"metadata", at_path(pod_template, "/metadata")},
           {"spec", at_path(pod_template, "/spec")}};
  pod["metadata"]["generateName"] = name_of(job) + "-";
  pod["metadata"]["ownerReferences"] = {{{"apiVersion", "batch/v1"},
                                         {"kind", "Job"},
                                         {"name", name_of(job)},
                                         {"uid", uid_of(job)},
                                         {"controller", true},
                                         {"blockOwnerDeletion", true}}};
  return pod;
}

bool is_finished(const Json& job) { return is_true(job, "Complete") || is_true(job, "Failed"); }

// A moment of the past. Time stamps are whole seconds, so that less than two aren't counted.
Moment moment_of(const std::string& time, Moment now) {
  const auto at = parse_iso8601(time);
  if (!at) return now;
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(system_time() - *at);
  return passed < std::chrono::seconds(2) ? now : now - passed;
}

void add_condition(Json& status, const char* type, const std::string& reason,
                   const std::string& message) {
  Json& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (const Json& one : conditions)
    if (text_at(one, "type") == type) return;
  const std::string now = timestamp();
  conditions.push_back({{"type", type},
                        {"status", "True"},
                        {"lastProbeTime", now},
                        {"lastTransitionTime", now},
                        {"reason", reason},
                        {"message", message}});
}

void set_count(Json& status, const char* field, std::int64_t count) {
  if (count > 0)
    status[field] = count;
  else
    status.erase(field);
}

}  // namespace

JobController::Pods JobController::pods_of(const Json& job) const {
  Pods pods;
  for (const Key& key : store_.dependents(uid_of(job))) {
    const ObjectPtr pod = key.kind == Kind::pods ? store_.find(key) : nullptr;
    if (!pod) continue;
    const std::string phase = text_at((*pod)["status"], "phase");
    if (phase == "Succeeded") {
      ++pods.succeeded;
    } else if (phase == "Failed") {
      ++pods.failed;
    } else {
      pods.active.push_back(pod);
      if (terminating(*pod)) ++pods.terminating;
      if (is_true(*pod, "Ready")) ++pods.ready;
    }
  }
  return pods;
}

// How many pods have ended. Those that have left without a word have failed.
JobController::Counts JobController::counts_of(const Json& job, const Pods& pods) {
  const std::int64_t failed_before = number_at(job, "/status/failed", 0);
  const std::int64_t succeeded_before = number_at(job, "/status/succeeded", 0);
  const std::int64_t known = number_at(job, "/status/active", 0) + failed_before + succeeded_before;
  Counts counts{.active = static_cast<std::int64_t>(pods.active.size()),
                .succeeded = std::max(succeeded_before, pods.succeeded),
                .failed = std::max(failed_before, pods.failed)};
  counts.failed +=
      std::max<std::int64_t>(0, known - counts.active - counts.succeeded - counts.failed);
  return counts;
}

std::optional<Moment> JobController::reconcile(const Key& key, Moment now) {
  const ObjectPtr job = store_.find(key);
  if (!job || terminating(*job) || at_path(*job, "/spec/suspend") == true) return std::nullopt;
  if (is_finished(*job)) return expire(key, *job, now);
  Json next = *job;
  Json& status = next["status"];
  if (!status.contains("startTime")) status["startTime"] = timestamp();
  Times& times = times_[uid_of(*job)];
  if (!times.started) times.started = moment_of(text_at(status, "startTime"), now);

  const Pods pods = pods_of(*job);
  Counts counts = counts_of(*job, pods);
  const std::int64_t completions =
      number_at(*job, "/spec/completions", number_at(*job, "/spec/parallelism", 1));
  std::optional<Moment> due;
  const Json& deadline = at_path(*job, "/spec/activeDeadlineSeconds");
  if (deadline.is_number_integer())
    due = *times.started + deadline.get<std::int64_t>() * timing_.second;
  if (const Json target = condition_of(*job, "FailureTarget"); !target.is_null())
    end(*job, status, pods, "Failed", text_at(target, "reason"), text_at(target, "message"));
  else if (counts.failed > number_at(*job, "/spec/backoffLimit", 6))
    end(*job, status, pods, "Failed", "BackoffLimitExceeded",
        "Job has reached the specified backoff limit");
  else if (due && now >= *due)
    end(*job, status, pods, "Failed", "DeadlineExceeded",
        "Job was active longer than specified deadline");
  else if (counts.succeeded >= completions)
    end(*job, status, pods, "Complete", "CompletionsReached",
        "Reached expected number of succeeded pods");
  else
    due = sooner(due, go_on(*job, completions, counts, now));

  set_count(status, "active", counts.active);
  set_count(status, "succeeded", counts.succeeded);
  set_count(status, "failed", counts.failed);
  status["ready"] = pods.ready;
  status["terminating"] = pods.terminating;
  status["uncountedTerminatedPods"] = Json::object();
  if (is_finished(next)) {
    times.finished = now;
    status["ready"] = 0;
    due = now;
  }
  registry_.write_status(key, std::move(next), controller_manager);
  return due;
}

// Creates the pods that are missing; in the place of one that failed, only after a while. Returns
// when to look again.
std::optional<Moment> JobController::go_on(const Json& job, std::int64_t completions,
                                           Counts& counts, Moment now) {
  Times& times = times_[uid_of(job)];
  if (counts.failed > number_at(job, "/status/failed", 0)) {
    const auto doublings = std::min<std::int64_t>(counts.failed - 1, most_doublings);
    times.replace_at =
        now + std::min(longest_back_off, first_back_off << doublings) * timing_.second;
  }
  const std::int64_t missing =
      std::min(number_at(job, "/spec/parallelism", 1), completions - counts.succeeded) -
      counts.active;
  if (missing <= 0) return std::nullopt;
  if (times.replace_at && now < *times.replace_at) return times.replace_at;
  std::int64_t created = 0;
  const auto again = create_pods(job, missing, created, now);
  counts.active += created;
  return again;
}

// Ends the Job: first its pods, and once they have ended, the Job itself.
void JobController::end(const Json& job, Json& status, const Pods& pods, const char* outcome,
                        const std::string& reason, const std::string& message) {
  const bool succeeded = std::string_view(outcome) == "Complete";
  add_condition(status, succeeded ? "SuccessCriteriaMet" : "FailureTarget", reason, message);
  for (const ObjectPtr& pod : pods.active) {
    if (terminating(*pod)) continue;
    registry_.remove(type_of(Kind::pods), namespace_of(*pod), name_of(*pod), {});
    events_.record(job, job_component,
                   {EventType::normal, "SuccessfulDelete", "Deleted pod: " + name_of(*pod), ""});
  }
  if (!pods.active.empty()) return;
  add_condition(status, outcome, reason, message);
  if (succeeded) status["completionTime"] = timestamp();
  events_.record(job, job_component,
                 succeeded ? Happening{EventType::normal, "Completed", "Job completed", ""}
                           : Happening{EventType::warning, reason, message, ""});
}

std::optional<Moment> JobController::create_pods(const Json& job, std::int64_t number,
                                                 std::int64_t& created, Moment now) {
  Times& times = times_[uid_of(job)];
  for (; created < number; ++created) {
    try {
      const ObjectPtr pod = registry_.create(type_of(Kind::pods), namespace_of(job),
                                             pod_of_job(job), {{controller_manager}});
      events_.record(job, job_component,
                     {EventType::normal, "SuccessfulCreate", "Created pod: " + name_of(*pod), ""});
      times.refused = 0;
    } catch (const Refusal& refusal) {
      events_.record(
          job, job_component,
          {EventType::warning, "FailedCreate", "Error creating: " + refusal.message, ""});
      const int doublings = std::min(most_doublings, times.refused++);
      return now + (1 << doublings) * (refused_back_off * timing_.second / 10);
    }
  }
  return std::nullopt;
}

// Deletes a Job that has ended, and its pods, once its time is over.
std::optional<Moment> JobController::expire(const Key& key, const Json& job, Moment now) {
  const Json& kept = at_path(job, "/spec/ttlSecondsAfterFinished");
  if (!kept.is_number_integer()) return std::nullopt;
  Times& times = times_[uid_of(job)];
  if (!times.finished) {
    const Json& failed = condition_of(job, "Failed");
    const Json& last = failed.is_null() ? condition_of(job, "Complete") : failed;
    times.finished = moment_of(text_at(last, "lastTransitionTime"), now);
  }
  const Moment over = *times.finished + kept.get<std::int64_t>() * timing_.second;
  if (now < over) return over;
  DeleteOptions options;
  options.propagation = Propagation::background;
  registry_.remove(type_of(Kind::jobs), key.name_space, key.name, options);
  return std::nullopt;
}

}  // namespace berth::embedded
