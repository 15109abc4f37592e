#include "reconcilers/cluster/job_pod.h"

#include <catch2/catch.hpp>

using namespace berth;
using namespace berth::reconcilers;
using runs::Reason;

// What a run's Job and pod say, in every state that they can have.

namespace {

const Instant now = parse_iso8601("2026-05-01T12:10:00Z").value();

runs::Run run_made(Duration ago) {
  runs::Run run;
  run.id = "run-1";
  run.timeout = std::chrono::minutes(5);
  run.inserted_at = now - ago;
  run.made_at = now - ago;
  return run;
}

Object job() { return {{"metadata", {{"name", "job"}}}, {"status", Object::object()}}; }

Object pod(const std::string& phase, const Object& state) {
  Object made{{"metadata", {{"name", "pod"}}},
              {"spec", {{"nodeName", "node-1"}}},
              {"status", {{"phase", phase}}}};
  if (!state.is_null())
    made["status"]["containerStatuses"] = {
        {{"name", "app"}, {"imageID", "ghcr.io/acme/web@sha256:1"}, {"state", state}}};
  return made;
}

Object ended(int code, const std::string& reason = "Error", const std::string& message = "") {
  Object terminated{{"exitCode", code},
                    {"reason", reason},
                    {"startedAt", "2026-05-01T12:09:00Z"},
                    {"finishedAt", "2026-05-01T12:09:30Z"}};
  if (!message.empty()) terminated["message"] = message;
  return {{"terminated", terminated}};
}

JobState state(const Object& of_pod, const Object& of_job = job(),
               const runs::Run& run = run_made(std::chrono::minutes(1)),
               const std::vector<Object>& events = {}) {
  return state_of_job(run, of_job, of_pod, events, {}, now);
}

runs::End the_end(const Object& of_pod, const Object& of_job = job(),
                  const runs::Run& run = run_made(std::chrono::minutes(1)),
                  const std::vector<Object>& events = {}) {
  const auto found = state(of_pod, of_job, run, events).seen.end;
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("a command that ends with 0 has succeeded") {
  const JobState seen = state(pod("Succeeded", ended(0, "Completed")));
  CHECK(seen.seen.started_at == parse_iso8601("2026-05-01T12:09:00Z"));
  CHECK(seen.seen.image_digest == "ghcr.io/acme/web@sha256:1");
  REQUIRE(seen.seen.end);
  CHECK(seen.seen.end->at == parse_iso8601("2026-05-01T12:09:30Z"));
  CHECK(seen.seen.end->exit_code == 0);
  CHECK(!seen.seen.end->reason);
}

TEST_CASE("a command that ends otherwise has failed, for one reason") {
  CHECK(the_end(pod("Failed", ended(3, "Error", "no such table"))).reason ==
        Reason::command_failed);
  CHECK(the_end(pod("Failed", ended(3, "Error", "no such table"))).exit_code == 3);
  CHECK(the_end(pod("Failed", ended(3, "Error", "no such table"))).message == "no such table");
  CHECK(the_end(pod("Failed", ended(137, "OOMKilled"))).reason == Reason::out_of_memory);

  Object late = pod("Failed", ended(137));
  late["status"]["reason"] = "DeadlineExceeded";
  CHECK(the_end(late).reason == Reason::timed_out);
  CHECK(the_end(late).message == "the command ran for longer than 300 seconds");

  Object evicted = pod("Failed", ended(137));
  evicted["status"]["reason"] = "Evicted";
  evicted["status"]["message"] = "Container app exceeded its local ephemeral storage limit";
  CHECK(the_end(evicted).reason == Reason::lost);
  CHECK(the_end(evicted).message.starts_with("Evicted: Container app exceeded"));

  Object drained = pod("Failed", ended(143));
  drained["metadata"]["deletionTimestamp"] = "2026-05-01T12:09:20Z";
  CHECK(the_end(drained).reason == Reason::lost);

  Object never = ended(128, "StartError", "exec: \"./migrat\": no such file or directory");
  never["terminated"]["startedAt"] = "1970-01-01T00:00:00Z";
  CHECK(the_end(pod("Failed", never)).reason == Reason::not_started);
  CHECK(!the_end(pod("Failed", never)).exit_code);
  CHECK(!state(pod("Failed", never)).seen.started_at);
}

TEST_CASE("a running command is running, until its node has missed its end") {
  const Object running{{"running", {{"startedAt", "2026-05-01T12:09:00Z"}}}};
  const JobState seen = state(pod("Running", running));
  CHECK(seen.seen.started_at);
  CHECK(!seen.seen.end);
  CHECK(seen.look_again == std::chrono::minutes(6));

  const Object forgotten{{"running", {{"startedAt", "2026-05-01T12:00:00Z"}}}};
  CHECK(the_end(pod("Running", forgotten), job(), run_made(std::chrono::minutes(11))).reason ==
        Reason::timed_out);

  Object leaving = pod("Running", running);
  leaving["metadata"]["deletionTimestamp"] = "2026-05-01T12:09:40Z";
  CHECK(!state(leaving).seen.end);
  leaving["metadata"]["deletionTimestamp"] = "2026-05-01T12:08:40Z";
  CHECK(the_end(leaving).reason == Reason::lost);
}

TEST_CASE("a node whose clock is behind ends no command early") {
  const Object behind{{"running", {{"startedAt", "2026-05-01T11:00:00Z"}}}};
  const auto early = state(pod("Running", behind), job(), run_made(std::chrono::minutes(6)));
  CHECK_FALSE(early.seen.end);
  CHECK(early.look_again == std::chrono::minutes(1));
  CHECK(the_end(pod("Running", behind), job(), run_made(std::chrono::minutes(7))).reason ==
        Reason::timed_out);
}

TEST_CASE("an image that can't be pulled fails the run; a full node only makes it wait") {
  const Object waiting{{"waiting", {{"reason", "ErrImagePull"}, {"message", "not found"}}}};
  CHECK(the_end(pod("Pending", waiting)).reason == Reason::image_pull_failed);
  CHECK(the_end(pod("Pending", waiting)).message == "not found");

  // The registry may answer the next time.
  const Object silent{
      {"waiting",
       {{"reason", "ErrImagePull"}, {"message", "rpc error: code = Unknown desc = i/o timeout"}}}};
  CHECK_FALSE(state(pod("Pending", silent)).seen.end);
  CHECK(state(pod("Pending", silent)).look_again == std::chrono::minutes(1));
  const auto older = run_made(std::chrono::minutes(2));
  CHECK(the_end(pod("Pending", silent), job(), older).reason == Reason::image_pull_failed);

  Object unscheduled{{"metadata", {{"name", "pod"}}},
                     {"status",
                      {{"phase", "Pending"},
                       {"conditions",
                        {{{"type", "PodScheduled"},
                          {"status", "False"},
                          {"reason", "Unschedulable"},
                          {"lastTransitionTime", "2026-05-01T12:00:00Z"},
                          {"message", "Insufficient memory"}}}}}}};
  CHECK(!state(unscheduled).seen.end);
  CHECK(state(unscheduled).look_again);
  const auto old = run_made(std::chrono::minutes(11));
  CHECK(the_end(unscheduled, job(), old).reason == Reason::not_started);
  CHECK(the_end(unscheduled, job(), old).message == "Insufficient memory");

  const Object broken{
      {"waiting", {{"reason", "CreateContainerError"}, {"message", "no command specified"}}}};
  CHECK(the_end(pod("Pending", broken)).reason == Reason::not_started);
}

TEST_CASE("a Job without a pod waits for one, or has lost it") {
  const Object none;
  CHECK(!state(none).seen.end);
  CHECK(state(none).look_again == std::chrono::minutes(9));
  const Object refused{{"reason", "FailedCreate"}, {"message", "exceeded quota: tenant"}};
  const auto late = the_end(none, job(), run_made(std::chrono::minutes(11)), {refused});
  CHECK(late.reason == Reason::not_started);
  CHECK(late.message == "exceeded quota: tenant");

  auto begun = run_made(std::chrono::minutes(1));
  begun.started_at = now - std::chrono::seconds(30);
  CHECK(the_end(none, job(), begun).reason == Reason::lost);

  Object failed = job();
  failed["status"]["conditions"] = {
      {{"type", "Failed"}, {"status", "True"}, {"message", "backoff limit"}}};
  CHECK(the_end(none, failed).reason == Reason::lost);

  Object complete = job();
  complete["status"]["completionTime"] = "2026-05-01T12:09:30Z";
  complete["status"]["conditions"] = {{{"type", "Complete"}, {"status", "True"}}};
  CHECK(!the_end(none, complete).reason);
  CHECK(the_end(none, complete).exit_code == 0);
}
