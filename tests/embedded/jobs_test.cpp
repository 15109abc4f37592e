#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/embedded/support.h"
#include "tests/embedded/surviving_world.h"

using namespace berth::embedded;
using namespace berth::embedded::tests;

// Jobs: what becomes of them, and that a pod that failed or left isn't started again.

namespace {

const std::string jobs = "/apis/batch/v1/namespaces/apps/jobs";

Json job(const std::string& name, const Json& command, const std::string& image = "nginx:1.27") {
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", {{"name", name}}},
          {"spec",
           {{"backoffLimit", 0},
            {"template",
             {{"metadata", {{"labels", {{"app", name}}}}},
              {"spec",
               {{"restartPolicy", "Never"},
                {"containers",
                 {{{"name", "app"},
                   {"image", image},
                   {"command", command},
                   {"terminationMessagePolicy", "FallbackToLogsOnError"}}}}}}}}}}};
}

Json of(const World& world, const std::string& name = "one") {
  return world.get(jobs + "/" + name).body;
}

bool has(const World& world, const std::string& condition_type, const std::string& name = "one") {
  return World::wait(
      [&] { return condition(of(world, name), condition_type).value("status", "") == "True"; });
}

std::vector<Json> pods(const World& world) { return world.cluster.list("pods", "apps"); }

const Json& terminated(const Json& pod) {
  return at_path(at_path(pod, "/status/containerStatuses").at(0), "/state/terminated");
}

bool runs(const World& world) {
  return World::wait([&] {
    const auto all = pods(world);
    return all.size() == 1 && all[0]["status"]["phase"] == "Running";
  });
}

}  // namespace

TEST_CASE("a Job runs its pod to the end") {
  World world;
  const Answer made = world.post(jobs, job("one", {"sh", "-c", "echo hello world; sleep 1"}));
  REQUIRE(made.status == 201);
  CHECK(made.body["spec"]["completions"] == 1);
  CHECK(made.body["spec"]["podReplacementPolicy"] == "TerminatingOrFailed");
  const std::string uid = uid_of(made.body);
  CHECK(made.body["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"] == uid);
  REQUIRE(has(world, "Complete"));
  const Json done = of(world);
  CHECK(done["status"]["succeeded"] == 1);
  CHECK(!done["status"].contains("active"));
  CHECK(!done["status"].contains("failed"));
  CHECK(done["status"].contains("completionTime"));
  CHECK(condition(done, "Complete")["reason"] == "CompletionsReached");
  const auto all = pods(world);
  REQUIRE(all.size() == 1);
  CHECK(name_of(all[0]).starts_with("one-"));
  CHECK(all[0]["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "one");
  CHECK(all[0]["metadata"]["labels"]["app"] == "one");
  CHECK(all[0]["status"]["phase"] == "Succeeded");
  CHECK(terminated(all[0])["exitCode"] == 0);
  CHECK(terminated(all[0])["reason"] == "Completed");
  CHECK(world.get(core + "pods/" + name_of(all[0]) + "/log").text.ends_with("hello world\n"));
}

TEST_CASE("a Job whose pod fails has failed, and its pod isn't started again") {
  World world;
  world.post(jobs, job("one", {"sh", "-c", "echo no such table; exit 3"}));
  REQUIRE(has(world, "Failed"));
  const Json done = of(world);
  CHECK(condition(done, "Failed")["reason"] == "BackoffLimitExceeded");
  CHECK(done["status"]["failed"] == 1);
  // Another Job that is through tells that the controllers have looked at this one.
  world.post(jobs, job("other", {"true"}));
  REQUIRE(has(world, "Complete", "other"));
  const auto all = world.cluster.list("pods", "apps", "app=one");
  REQUIRE(all.size() == 1);
  CHECK(all[0]["status"]["phase"] == "Failed");
  CHECK(at_path(all[0], "/status/containerStatuses")[0]["restartCount"] == 0);
  CHECK(terminated(all[0])["exitCode"] == 3);
  CHECK(terminated(all[0])["message"] == "no such table\n");
}

TEST_CASE("a Job within its backoffLimit has its pod replaced") {
  World world;
  Json wanted = job("one", {"exit", "1"});
  wanted["spec"]["backoffLimit"] = 1;
  world.post(jobs, wanted);
  REQUIRE(has(world, "Failed"));
  CHECK(of(world)["status"]["failed"] == 2);
  CHECK(pods(world).size() == 2);
}

TEST_CASE("a pod that is deleted counts as failed, and isn't replaced") {
  World world;
  world.post(jobs, job("one", {"sleep", "10000"}));
  REQUIRE(runs(world));
  REQUIRE(World::wait([&] { return of(world)["status"].value("active", 0) == 1; }));
  world.remove(core + "pods/" + name_of(pods(world)[0]));
  REQUIRE(has(world, "Failed"));
  CHECK(pods(world).empty());
  CHECK(of(world)["status"]["failed"] == 1);
}

TEST_CASE("a container that can't be started has ended, if it must not be restarted") {
  World world;
  world.post(jobs, job("one", {"true"}, "oom:1"));
  REQUIRE(has(world, "Failed"));
  CHECK(terminated(pods(world).at(0))["reason"] == "OOMKilled");
}

TEST_CASE("a pod that is active for longer than its deadline ends and stays, with its log") {
  World world;
  Json wanted = job("one", {"sh", "-c", "echo begun; sleep 10000"});
  wanted["spec"]["template"]["spec"]["activeDeadlineSeconds"] = 20;
  wanted["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 5;
  world.post(jobs, wanted);
  REQUIRE(has(world, "Failed"));
  const auto all = pods(world);
  REQUIRE(all.size() == 1);
  CHECK(all[0]["status"]["phase"] == "Failed");
  CHECK(all[0]["status"]["reason"] == "DeadlineExceeded");
  CHECK(terminated(all[0])["exitCode"] == 137);
  CHECK(world.get(core + "pods/" + name_of(all[0]) + "/log").text.ends_with("begun\n"));
}

TEST_CASE("a Job that is active for longer than its deadline deletes its pod") {
  World world;
  Json wanted = job("one", {"sleep", "10000"});
  wanted["spec"]["activeDeadlineSeconds"] = 20;
  world.post(jobs, wanted);
  REQUIRE(has(world, "Failed"));
  CHECK(condition(of(world), "Failed")["reason"] == "DeadlineExceeded");
  CHECK(pods(world).empty());
}

TEST_CASE("a suspended Job has no pod until it is resumed") {
  World world;
  Json wanted = job("one", {"true"});
  wanted["spec"]["suspend"] = true;
  world.post(jobs, wanted);
  world.post(jobs, job("other", {"true"}));
  REQUIRE(has(world, "Complete", "other"));
  CHECK(world.cluster.list("pods", "apps", "app=one").empty());
  CHECK(world.merge(jobs + "/one", {{"spec", {{"suspend", false}}}}).status == 200);
  REQUIRE(has(world, "Complete"));
}

TEST_CASE("a Job's pods stay after it unless the request says otherwise") {
  World world;
  world.post(jobs, job("one", {"true"}));
  world.post(jobs, job("two", {"true"}));
  REQUIRE(has(world, "Complete"));
  REQUIRE(has(world, "Complete", "two"));
  world.remove(jobs + "/one");
  world.remove(jobs + "/two", {{"propagationPolicy", "Background"}});
  REQUIRE(World::wait([&] { return pods(world).size() == 1; }));
  CHECK(pods(world)[0]["metadata"]["labels"]["app"] == "one");
}

TEST_CASE("a Job that has ended is removed after its time to live, with its pods") {
  World world;
  Json wanted = job("one", {"true"});
  wanted["spec"]["ttlSecondsAfterFinished"] = 5;
  world.post(jobs, wanted);
  CHECK(World::wait([&] { return world.get(jobs + "/one").status == 404; }));
  CHECK(World::wait([&] { return pods(world).empty(); }));
}

TEST_CASE("a Job's template never changes, and its pods end") {
  World world;
  Json wanted = job("one", {"sleep", "10000"});
  wanted["spec"]["template"]["spec"]["restartPolicy"] = "Always";
  const Answer refused = world.post(jobs, wanted);
  CHECK(refused.status == 422);
  CHECK(
      refused.body["message"].get<std::string>().find(
          R"(spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never")") !=
      std::string::npos);
  wanted["spec"]["template"]["spec"]["restartPolicy"] = "Never";
  REQUIRE(world.post(jobs, wanted).status == 201);
  CHECK(world
            .merge(jobs + "/one",
                   {{"spec", {{"template", {{"metadata", {{"labels", {{"a", "b"}}}}}}}}}})
            .status == 422);
  CHECK(world.merge(jobs + "/one", {{"metadata", {{"labels", {{"a", "b"}}}}}}).status == 200);
}

TEST_CASE("a quota limits the number of Jobs") {
  World world;
  world.cluster.put(Json{{"apiVersion", "v1"},
                         {"kind", "ResourceQuota"},
                         {"metadata", {{"name", "few"}, {"namespace", "apps"}}},
                         {"spec", {{"hard", {{"count/jobs.batch", "1"}}}}}});
  REQUIRE(World::wait([&] {
    return world.post(jobs, job("one", {"sleep", "10000"})).status == 201;
  }));
  CHECK(world.post(jobs, job("two", {"true"})).status == 403);
}

TEST_CASE("a Job goes on after a kill, and its container isn't started again") {
  SurvivingWorld world;
  world.apply(job("one", {"./migrate"}));
  const auto one = [&] { return *world.cluster().get("jobs", "apps", "one"); };
  const auto is_running = [&] {
    return at_path(world.status("one"), "/state/running").is_object() &&
           at_path(one(), "/status/active") == 1;
  };
  REQUIRE(World::wait(is_running));
  const std::string pod = name_of(world.pods("one")[0]);
  world.kill_and_begin();
  REQUIRE(World::wait(is_running));
  CHECK(name_of(world.pods("one")[0]) == pod);
  CHECK(world.status("one")["restartCount"] == 0);
  CHECK(world.machine.running().size() == 1);

  // It ends while nobody looks.
  world.kill();
  world.machine.end(pod, 4);
  world.begin();
  REQUIRE(World::wait([&] { return condition(one(), "Failed").value("status", "") == "True"; }));
  const auto all = world.cluster().list("pods", "apps");
  REQUIRE(all.size() == 1);
  CHECK(terminated(all[0])["exitCode"] == 4);
}
