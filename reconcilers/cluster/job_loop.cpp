#include "reconcilers/cluster/job_loop.h"

#include <algorithm>

#include "controller/base/log.h"
#include "controller/domain/deployments/container_logs.h"
#include "reconcilers/cluster/failures.h"
#include "reconcilers/cluster/log_lines.h"

namespace berth::reconcilers {
namespace {

using runs::End;
using runs::Run;

// A refused Job is tried again after this time: a quota may have room by then.
constexpr std::chrono::milliseconds after_refused_run{5'000};
constexpr std::chrono::milliseconds soon{200};
// How long the end of a run waits for a log that can't be read.
constexpr std::chrono::seconds log_patience{15};
// How long reading a log may take. A kubelet that accepts the connection and says nothing would
// otherwise hold one of the few threads that all runs share.
constexpr std::chrono::seconds log_reading{30};
// How many lines are read of a log whose last runs::max_log_bytes are kept.
constexpr int most_log_lines = 4096;
// How far the database's clock is ahead of the machine's, by which the cluster names its times.
Duration ahead_of_cluster(db::Tx& tx) {
  return std::chrono::round<std::chrono::seconds>(tx.now() - system_time());
}

void shift(std::optional<Instant>& at, Duration by) {
  if (at) *at += by;
}

// The run with its times by the machine's clock; `minute` is a part of its name, and stays.
std::optional<Run> find_run(db::Tx& tx, const std::string& id) {
  auto run = runs::find(tx, id);
  if (!run) return run;
  const Duration ahead = ahead_of_cluster(tx);
  run->inserted_at -= ahead;
  shift(run->made_at, -ahead);
  shift(run->started_at, -ahead);
  return run;
}

runs::Seen by_our_clock(db::Tx& tx, runs::Seen seen) {
  const Duration ahead = ahead_of_cluster(tx);
  shift(seen.started_at, ahead);
  if (seen.end) seen.end->at += ahead;
  return seen;
}

const prometheus::Histogram::BucketBoundaries wait_buckets = {0.5, 1,  2,   5,   10,  20,
                                                              30,  60, 120, 300, 600, 1800};

std::chrono::milliseconds in_millis(Duration duration) {
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(duration),
                  std::chrono::milliseconds(100));
}

bool is_job(const Object& object) { return text_at(object, {"kind"}) == kube::jobs.kind; }

bool is_suspended(const Object& job) { return flag_at(job, {"spec", "suspend"}); }

// The lines of a run's log as they are kept: the last ones that fit.
class KeptLines {
 public:
  explicit KeptLines(const Object& pod)
      : cursor_({.at = 0, .of_that_time = 0, .pod = name_of(pod), .pod_made = made_at(pod)}) {
    cursor_.rewind();
  }

  void take(std::string_view text) {
    const auto line = parse_stamped(text);
    if (!line || !cursor_.passes(line->at)) return;
    add(cursor_.position().text() + "\t" + as_utf8(line->text) + "\n");
  }
  // `all` is false if lines were left out before the first one.
  runs::Log log(bool all) && {
    return {.lines = std::move(text_).substr(begin_), .is_cut = is_cut_ || !all};
  }
  int count() const { return count_; }

 private:
  static std::int64_t made_at(const Object& pod) {
    const auto made = instant_at(pod, {"metadata", "creationTimestamp"});
    return made ? std::chrono::floor<std::chrono::seconds>(*made).time_since_epoch().count() : 0;
  }
  void add(const std::string& line) {
    ++count_;
    text_ += line;
    while (text_.size() - begin_ > runs::max_log_bytes) {
      is_cut_ = true;
      const size_t end = text_.find('\n', begin_);
      begin_ = end == std::string::npos ? text_.size() : end + 1;
    }
    if (begin_ > runs::max_log_bytes) {
      text_.erase(0, begin_);
      begin_ = 0;
    }
  }

  LogCursor cursor_;
  std::string text_;
  size_t begin_ = 0;
  bool is_cut_ = false;
  int count_ = 0;
};

bool has_written(const Object& pod) {
  const Object& state = field(container_status(pod), {"state"});
  return state.is_object() && (state.contains("running") || state.contains("terminated"));
}

}  // namespace

JobLoop::JobLoop(Parts parts)
    : parts_(std::move(parts)),
      ended_(prometheus::BuildCounter()
                 .Name("berth_runs_ended_total")
                 .Help("Runs of deployments that have ended, by their kind (release, run, cron) "
                       "and by succeeded or why they failed.")
                 .Register(parts_.registry)),
      waited_(prometheus::BuildHistogram()
                  .Name("berth_run_start_seconds")
                  .Help("Seconds from when a run was asked for until its container started, "
                        "by its kind.")
                  .Register(parts_.registry)) {
  // So that they are there before the first run.
  for (const char* kind : {"release", "run", "cron"}) {
    waited_.Add({{"kind", kind}}, wait_buckets);
    for (const char* outcome : {"succeeded", "command_failed", "timed_out", "out_of_memory",
                                "image_pull_failed", "not_started", "lost"})
      ended_.Add({{"kind", kind}, {"outcome", outcome}});
  }
}

void JobLoop::log_pass(log::Level level, const std::string& run_id, const Subject& subject,
                       const std::string& reason, Took took) {
  log::write(level, "run reconciled",
             {{"run", run_id},
              {"deployment", subject.deployment_id},
              {"kind", subject.kind},
              {"reason", reason},
              {"duration_ms", took.count()}});
}

Outcome JobLoop::reconcile(const std::string& run_id, Subject& subject) {
  const auto run = parts_.database.read([&](db::Tx& tx) { return find_run(tx, run_id); });
  // A database that was restored doesn't know the newest runs. Their Jobs end by themselves.
  if (!run) return {};
  subject = {run->deployment_id, std::string(to_string(run->kind))};
  if (!parts_.cache.synced()) return Outcome::waiting("the cluster", look_again);
  const bool is_over = runs::is_over(run->status);
  if (!parts_.cache.serves(kube::jobs)) {
    if (is_over) return {};
    // A Job that was made goes on, although the API server doesn't name it at the moment.
    const Duration patience = longest_start + (run->made_at ? run->timeout : Duration(0));
    if (system_time() - run->inserted_at < patience)
      return Outcome::waiting("the cluster", after_refused_run);
    return fail(*run, runs::Reason::not_started,
                "the cluster has no Jobs, or doesn't let berth use them");
  }
  const ObjectPtr job = job_of(*run);
  if (job && label_of(*job, manifests::run_label) != run->id)
    // A database that was restored may have a cron's minute anew.
    return is_over ? Outcome()
                   : fail(*run, runs::Reason::lost, "the cron has run at this minute before");
  if (is_over) return job ? clean_up(*run, *job) : Outcome();
  if (!job) return run->made_at ? look_for_job(*run) : make(*run);
  const bool waits = is_suspended(*job) && !is_being_deleted(*job);
  if (waits && run->started_at) return look_at_forgotten(*run);
  if (!run->made_at || waits) return resume(*run, *job);
  return look(*run, *job);
}

// Making and starting. ----------------------------------------------------------------------------

std::optional<runs::Wanted> JobLoop::wanted(const Run& run) {
  auto wanted =
      parts_.database.read([&](db::Tx& tx) { return runs::wanted(tx, run.id, parts_.data_key); });
  if (!wanted) return std::nullopt;
  auto& confinement = wanted->state.confinement;
  if (!confinement.user_namespaces)
    confinement.user_namespaces = !confinement.runtime_class && parts_.has_user_namespaces();
  return wanted;
}

Outcome JobLoop::make(const Run& run) {
  const auto is_wanted = wanted(run);
  if (!is_wanted) return {};  // it has been cancelled, and there is nothing to remove
  Object job = manifests::of_run(*is_wanted, parts_.settings).back();
  job["spec"]["suspend"] = true;
  try {
    job = parts_.client.create(job);
  } catch (const kube::ApiError& error) {
    const bool is_late = system_time() - run.inserted_at >= longest_start;
    if (error.status == 409 && error.reason == "AlreadyExists" && !is_late)
      return Outcome::waiting("the cache to know the Job", soon);
    const Failure failure = meaning_of(error);
    if (failure != Failure::refused && failure != Failure::leaving && error.status != 409) throw;
    if (is_late) return fail(run, runs::Reason::not_started, error.what());
    return {Outcome::Kind::refused, 0, after_refused_run, error.what(), false};
  }
  parts_.cache.note(job);
  return resume(run, job);
}

Outcome JobLoop::resume(const Run& run, const Object& job) {
  if (!run.made_at)
    parts_.database.write([&](db::Tx& tx) { return runs::record_made(tx, run.id); });
  const auto is_wanted = wanted(run);
  if (!is_wanted) return clean_up(run, job);  // it has been cancelled meanwhile
  try {
    const int writes = is_suspended(job) ? start(*is_wanted, job) : 0;
    return {Outcome::Kind::applied, writes, look_again, "", true};
  } catch (const kube::ApiError& error) {
    // It hasn't started. A Secret may be refused for ever, by a quota or a webhook.
    const bool is_late = run.made_at && system_time() - *run.made_at >= longest_start;
    if (meaning_of(error) != Failure::refused || !is_late) throw;
    return fail(run, runs::Reason::not_started, error.what());
  }
}

// Makes the Secrets and resumes the Job. Returns the number of writes.
int JobLoop::start(const runs::Wanted& wanted, const Object& job) {
  int writes = 0;
  for (Object& object : manifests::of_run(wanted, parts_.settings)) {
    if (is_job(object)) continue;
    object["metadata"]["ownerReferences"] = {{{"apiVersion", kube::jobs.api_version},
                                              {"kind", kube::jobs.kind},
                                              {"name", name_of(job)},
                                              {"uid", uid_of(job)}}};
    parts_.client.apply(object);
    ++writes;
  }
  const Object resumed = parts_.client.merge(
      {{"apiVersion", kube::jobs.api_version},
       {"kind", kube::jobs.kind},
       {"metadata",
        {{"name", name_of(job)}, {"namespace", namespace_of(job)}, {"uid", uid_of(job)}}},
       {"spec", {{"suspend", false}}}});
  parts_.cache.note(resumed);
  return writes + 2;
}

// What becomes of it. -----------------------------------------------------------------------------

ObjectPtr JobLoop::job_of(const Run& run) const {
  return parts_.cache.store(kube::jobs)
      .find(manifests::namespace_of(run.app_id), manifests::run_object_name(run));
}

// Another process may have made the Job, so that this one's cache doesn't have it yet.
Outcome JobLoop::look_for_job(const Run& run) {
  const auto job = parts_.client.get(kube::jobs, manifests::namespace_of(run.app_id),
                                     manifests::run_object_name(run));
  if (!job) return fail(run, runs::Reason::lost, "the Job is gone");
  parts_.cache.note(*job);
  return Outcome::waiting("the cache to know the Job", soon);
}

// A Job that is suspended although its container has started: somebody has suspended it, or the
// cluster was restored from a backup. It would run a second time if it was resumed.
Outcome JobLoop::look_at_forgotten(const Run& run) {
  const auto job = parts_.client.get(kube::jobs, manifests::namespace_of(run.app_id),
                                     manifests::run_object_name(run));
  if (job && is_suspended(*job))
    return fail(run, runs::Reason::lost, "the Job was suspended after it had started");
  if (job) parts_.cache.note(*job);
  return Outcome::waiting("the cache to know the Job", soon);
}

// Whether the API server has a pod that the cache doesn't have yet.
bool JobLoop::has_unseen_pod(const Run& run) {
  return !parts_.client
              .list(kube::pods, {.name_space = manifests::namespace_of(run.app_id),
                                 .label_selector = std::string(manifests::run_label) + "=" + run.id,
                                 .field_selector = ""})
              .items.empty();
}

// The run's pod. There is never more than one, but if there were, the one that is there to stay.
ObjectPtr JobLoop::pod_of(const Run& run) const {
  ObjectPtr found;
  for (const ObjectPtr& pod : parts_.cache.store(kube::pods).of_deployment(run.deployment_id))
    if (label_of(*pod, manifests::run_label) == run.id && (!found || is_being_deleted(*found)))
      found = pod;
  return found;
}

std::vector<Object> JobLoop::events_of(const Object& object) {
  try {
    return parts_.client
        .list(kube::events, {.name_space = namespace_of(object),
                             .label_selector = "",
                             .field_selector = "involvedObject.name=" + name_of(object)})
        .items;
  } catch (const kube::ApiError& error) {
    log::debug("the events of a run couldn't be read",
               {{"object", name_of(object)}, {"error", error.what()}});
    return {};
  }
}

Outcome JobLoop::look(const Run& run, const Object& job) {
  static const Object none;
  const ObjectPtr found = pod_of(run);
  const Object& pod = found ? *found : none;
  std::vector<Object> events;
  if (has_questions(job, pod)) events = events_of(found ? pod : job);
  const JobState state = state_of_job(run, job, pod, events, parts_.patience, system_time());
  if (state.seen.end && !found && has_unseen_pod(run))
    return Outcome::waiting("the cache to know the pod", soon);
  if (state.seen.end) return finish(run, pod, state.seen);
  const bool recorded = runs::would_change(run, state.seen) && record(run, state.seen, {});
  const Duration again =
      std::min<Duration>(state.look_again.value_or(longest_start), std::chrono::minutes(1));
  return {Outcome::Kind::unchanged, 0, in_millis(again), "", recorded};
}

// Keeps the log and records the end in one transaction, and then removes the Job.
Outcome JobLoop::finish(const Run& run, const Object& pod, const runs::Seen& seen) {
  std::optional<runs::Log> log;
  if (has_written(pod) && seen.end->reason != runs::Reason::not_started) {
    try {
      log = read_log(pod);
    } catch (const kube::ApiError& error) {
      const auto ended = instant_at(container_status(pod), {"state", "terminated", "finishedAt"});
      if (error.status != 404 && ended && system_time() - *ended < log_patience)
        return Outcome::waiting("the log", look_again);
      log::warning("the log of a run couldn't be kept",
                   {{"run", run.id}, {"pod", name_of(pod)}, {"error", error.what()}});
    }
  }
  const bool recorded = record(run, seen, log);
  if (const ObjectPtr job = job_of(run))
    parts_.client.remove(kube::jobs, namespace_of(*job), name_of(*job), uid_of(*job));
  return {Outcome::Kind::applied, 1, {}, "", recorded};
}

// Removes the Job of a run that is over: it was cancelled, or berthd ended after recording the end.
Outcome JobLoop::clean_up(const Run& run, const Object& job) {
  if (is_being_deleted(job)) return {};
  const ObjectPtr pod = pod_of(run);
  if (pod && has_written(*pod)) {
    const bool is_kept =
        parts_.database.read([&](db::Tx& tx) { return runs::log_of(tx, run.id).has_value(); });
    try {
      if (!is_kept) {
        const runs::Log log = read_log(*pod);
        parts_.database.write([&](db::Tx& tx) { runs::store_log(tx, run.id, log); });
      }
    } catch (const kube::ApiError& error) {
      log::warning("the log of a run couldn't be kept",
                   {{"run", run.id}, {"pod", name_of(*pod)}, {"error", error.what()}});
    }
  }
  parts_.client.remove(kube::jobs, namespace_of(job), name_of(job), uid_of(job));
  return {Outcome::Kind::applied, 1, {}, "", false};
}

Outcome JobLoop::fail(const Run& run, runs::Reason reason, const std::string& message) {
  const runs::Seen seen{.end = End{.at = system_time(), .reason = reason, .message = message}};
  const bool recorded = record(run, seen, {});
  return {Outcome::Kind::refused, 0, {}, message, recorded};
}

bool JobLoop::record(const Run& run, const runs::Seen& seen, const std::optional<runs::Log>& log) {
  const bool recorded = parts_.database.write([&](db::Tx& tx) {
    if (log) runs::store_log(tx, run.id, *log);
    return runs::record(tx, run.id, by_our_clock(tx, seen));
  });
  if (recorded) count(run, seen);
  return recorded;
}

void JobLoop::count(const Run& run, const runs::Seen& seen) {
  const std::string kind(to_string(run.kind));
  if (seen.started_at && !run.started_at) {
    const std::chrono::duration<double> waited = *seen.started_at - run.inserted_at;
    waited_.Add({{"kind", kind}}, wait_buckets).Observe(std::max(0.0, waited.count()));
  }
  if (seen.end)
    ended_
        .Add({{"kind", kind},
              {"outcome",
               seen.end->reason ? std::string(to_string(*seen.end->reason)) : "succeeded"}})
        .Increment();
}

runs::Log JobLoop::read_log(const Object& pod) {
  KeptLines kept(pod);
  LogLines lines(container_logs::max_line_bytes);
  const auto on_line = [&](std::string_view text) { kept.take(text); };
  kube::LogOptions options;
  options.tail_lines = most_log_lines;
  options.within = log_reading;
  parts_.client.stream_logs(
      namespace_of(pod), name_of(pod), options,
      [&](std::string_view piece) { lines.feed(piece, on_line); }, std::stop_token());
  lines.finish(on_line);
  const bool all = kept.count() < most_log_lines;
  return std::move(kept).log(all);
}

}  // namespace berth::reconcilers
