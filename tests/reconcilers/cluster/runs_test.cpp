#include "reconcilers/cluster/runs.h"

#include <catch2/catch.hpp>

using namespace berth;
using namespace berth::reconcilers;
using metering::Run;
using nlohmann::json;

namespace {

const std::string one = "2026-05-01T12:00:01Z";
const std::string two = "2026-05-01T12:00:02Z";
const std::string three = "2026-05-01T12:00:03Z";

json running(const std::string& since) { return {{"running", {{"startedAt", since}}}}; }
json ended(const std::string& start, const std::string& end, const std::string& id) {
  return {{"terminated",
           {{"exitCode", 1}, {"startedAt", start}, {"finishedAt", end}, {"containerID", id}}}};
}
json waiting() { return {{"waiting", {{"reason", "CrashLoopBackOff"}}}}; }

json container(int restarts, const json& state, const json& last, const std::string& id,
               const std::string& name = "app") {
  return {{"name", name},
          {"restartCount", restarts},
          {"state", state},
          {"lastState", last},
          {"containerID", id}};
}
json pod(const std::vector<json>& containers, const std::string& phase = "Running") {
  return {{"kind", "Pod"},
          {"metadata", {{"name", "p"}, {"namespace", "n"}, {"uid", "u"}}},
          {"status", {{"phase", phase}, {"containerStatuses", containers}}}};
}

// "NAME START-END", with seconds.
std::vector<std::string> shown(const json& object, const std::string& now = three) {
  std::vector<std::string> lines;
  const auto second = [](Instant at) { return std::to_string(to_millis(at) / 1000 % 60); };
  for (const Run& run : runs_of(object, *parse_iso8601(now)))
    lines.push_back(run.name + " " + second(run.started_at) + "-" +
                    (run.ended_at ? second(*run.ended_at) : ""));
  return lines;
}
using Lines = std::vector<std::string>;

Run run(const std::string& name, bool has_ended = false) {
  Run made;
  made.name = name;
  made.started_at = *parse_iso8601(one);
  if (has_ended) made.ended_at = *parse_iso8601(two);
  return made;
}

}  // namespace

TEST_CASE("a container that runs is a run without an end, and its times are the runtime's") {
  CHECK(shown(pod({container(0, running(one), json::object(), "c://a")})) == Lines{"u/0 1-"});
  const auto runs =
      runs_of(pod({container(0, running(one), json::object(), "c://a")}), *parse_iso8601(two));
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].process == "web");
  CHECK(to_iso8601(runs[0].started_at) == "2026-05-01T12:00:01.000Z");
}

TEST_CASE("a pod that a lost node doesn't end has ended with its grace period") {
  json leaving = pod({container(0, running(one), json::object(), "c://a")});
  leaving["metadata"]["deletionTimestamp"] = three;
  CHECK(shown(leaving) == Lines{"u/0 1-"});
  CHECK(shown(leaving, "2026-05-01T12:01:03Z") == Lines{"u/0 1-"});  // its kubelet may be late
  CHECK(shown(leaving, "2026-05-01T12:01:04Z") == Lines{"u/0 1-3"});
  leaving["metadata"]["deletionTimestamp"] = "2026-05-01T11:00:00Z";
  CHECK(shown(leaving) == Lines{"u/0 1-1"});
}

TEST_CASE("the state before the present one is the run before, or the last one while it waits") {
  CHECK(shown(pod({container(4, running(three), ended(one, two, "c://a"), "c://b")})) ==
        Lines{"u/3 1-2", "u/4 3-"});
  CHECK(shown(pod({container(4, waiting(), ended(one, two, "c://b"), "c://b")})) ==
        Lines{"u/4 1-2"});
  CHECK(shown(pod({container(4, ended(two, three, "c://b"), ended(one, two, "c://a"), "c://b")})) ==
        Lines{"u/3 1-2", "u/4 2-3"});
  // The container is lost from sight for a moment, before or after it was started again.
  CHECK(shown(pod({container(4, waiting(), ended(one, two, "c://a"), "")})).empty());
  // Without ids, the state decides.
  CHECK(shown(pod({container(4, waiting(), ended(one, two, ""), "")})) == Lines{"u/4 1-2"});
  CHECK(shown(pod({container(4, running(three), ended(one, two, ""), "")})) ==
        Lines{"u/3 1-2", "u/4 3-"});
}

TEST_CASE("what never ran, or has no times, isn't a run") {
  CHECK(shown(pod({})).empty());
  CHECK(shown({{"metadata", {{"uid", "u"}}}}).empty());
  CHECK(shown(pod({container(0, waiting(), json::object(), "")})).empty());
  // The kubelet's StartError, and a container that it has lost.
  CHECK(shown(pod({container(1, waiting(), ended("1970-01-01T00:00:00Z", two, "c://a"), "c://a")}))
            .empty());
  json lost = ended(one, two, "");
  lost["terminated"]["startedAt"] = nullptr;
  lost["terminated"]["finishedAt"] = nullptr;
  CHECK(shown(pod({container(1, waiting(), lost, "")})).empty());
  lost["terminated"]["startedAt"] = one;
  CHECK(shown(pod({container(1, lost, json::object(), "")})).empty());
  // The number of the run before the first one.
  CHECK(shown(pod({container(0, running(three), ended(one, two, "c://a"), "c://b")})) ==
        Lines{"u/0 3-"});
  CHECK(shown(pod({container(0, running("yesterday"), json::object(), "c://a")})).empty());
  json nameless = pod({container(0, running(one), json::object(), "c://a")});
  nameless["metadata"].erase("uid");
  CHECK(shown(nameless).empty());
}

TEST_CASE("containers that others have injected into the pod cost nothing") {
  const json proxy = container(7, running(one), json::object(), "c://p", "istio-proxy");
  CHECK(shown(pod({proxy, container(0, running(two), json::object(), "c://a")})) ==
        Lines{"u/0 2-"});
  CHECK(shown(pod({proxy})).empty());
}

TEST_CASE("a pod that is being deleted runs until its container has ended") {
  json leaving = pod({container(0, running(one), json::object(), "c://a")});
  leaving["metadata"]["deletionTimestamp"] = three;
  CHECK(shown(leaving) == Lines{"u/0 1-"});
  json gone = pod({container(0, ended(one, two, "c://a"), json::object(), "c://a")}, "Failed");
  gone["metadata"]["deletionTimestamp"] = three;
  CHECK(shown(gone) == Lines{"u/0 1-2"});
}

TEST_CASE("a pod that is over doesn't run, whatever its lost node said last") {
  CHECK(shown(pod({container(0, running(one), json::object(), "c://a")}, "Failed")).empty());
  CHECK(shown(pod({container(1, running(three), ended(one, two, "c://a"), "c://b")}, "Failed")) ==
        Lines{"u/0 1-2"});
}

TEST_CASE("runs are recorded if each is known as it is now, and none that ran is missing") {
  using Runs = std::vector<Run>;
  CHECK(are_recorded({}, {}));
  CHECK_FALSE(are_recorded({run("u/0")}, {}));
  CHECK(are_recorded({run("u/0")}, {run("u/0")}));
  CHECK_FALSE(are_recorded({run("u/0", true)}, {run("u/0")}));
  // It was seen last before, and is there again.
  CHECK_FALSE(are_recorded({run("u/0")}, {run("u/0", true)}));
  CHECK_FALSE(are_recorded({}, {run("u/0")}));
  CHECK(are_recorded({}, {run("u/0", true)}));
  CHECK_FALSE(are_recorded({run("u/0", true), run("u/1")}, Runs{run("u/0", true)}));
  CHECK(are_recorded({run("u/1")}, {run("u/0", true), run("u/1")}));
}
