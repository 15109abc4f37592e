// berthd is killed at random moments of a deployment's life. The simulated cluster ends with it, so
// everything has to be created again, or to stay deleted, without help.
#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "tests/process/client.h"
#include "tests/process/random.h"

using namespace berth::process;

namespace {

constexpr int lanes = 6;  // each has a berthd of its own
constexpr int rounds_of_a_lane = 4;
constexpr int longest_life_ms = 1'500;  // a life takes about a second

struct Step {
  const char* action;  // the action's name in the log
  const char* status;  // the status that it leads to
};
constexpr Step steps[] = {
    {"create", "running"}, {"stop", "stopped"}, {"restart", "running"}, {"destroy", "destroyed"}};

// A deployment that is changed step by step.
class Life {
 public:
  Life(Operator& owner, std::string name) : owner_(owner), name_(std::move(name)) {}

  void take(const Step& step) {
    const std::string action = step.action;
    const std::string path = "/api/deploy/apps/" + id_;
    if (action == "create") {
      id_ = deploy(owner_.api, order(name_));
    } else if (action == "destroy") {
      expect(200, owner_.api.remove(path));
    } else {
      expect(200, owner_.api.post(path + "/" + action));
    }
  }

  // Finds the deployment's id, also if the answer to its creation was lost. Returns false if it was
  // never created.
  bool find() {
    const Answer list = expect(200, owner_.api.get("/api/deploy/apps"));
    for (const json& row : list.body.at("deployments"))
      if (row.at("name") == name_) id_ = row.at("id");
    return !id_.empty();
  }

  // Returns how many of the steps were taken, according to the log.
  size_t steps_taken() {
    size_t taken = 0;
    const auto logs = expect(200, owner_.api.get("/api/deploy/apps/" + id_ + "/logs"));
    for (const json& entry : logs.body.at("logs")) {
      if (entry.at("action") == "deploy") continue;
      if (taken == std::size(steps) || entry.at("action") != steps[taken].action)
        throw std::runtime_error("odd steps: " + logs.text);
      ++taken;
    }
    return taken;
  }

  void await(const Berthd& berthd, const Step& step) {
    const std::string status = step.status;
    wait_until_status(owner_.api, id_, status);
    const bool served = eventually([&] {
      const Answer page = page_of(berthd, name_);
      return (page.status == 200) == (status == "running");
    });
    if (!served) throw std::runtime_error(name_ + " is " + status + " but its page isn't right");
  }

 private:
  Operator& owner_;
  const std::string name_;
  std::string id_;
};

// Takes one step after another until berthd is gone. Returns how many were answered.
size_t live(Life& life, const Berthd& berthd, Random& random) {
  size_t answered = 0;
  try {
    for (const Step& step : steps) {
      life.take(step);
      ++answered;
      if (up_to(random, 1).count() == 0)
        life.await(berthd, step);
      else
        std::this_thread::sleep_for(up_to(random, 200));
    }
  } catch (const NoAnswer&) {
  }
  return answered;
}

void one_round(Berthd& berthd, Operator& owner, const std::string& name, Random& random) {
  const auto moment = up_to(random, longest_life_ms);
  std::thread killer([&] {
    std::this_thread::sleep_for(moment);
    berthd.send(9);
  });
  Life life(owner, name);
  size_t answered = 0;
  try {
    answered = live(life, berthd, random);
  } catch (...) {
    killer.join();
    throw;
  }
  killer.join();
  berthd.kill();
  berthd.start();

  size_t taken = life.find() ? life.steps_taken() : 0;
  if (taken < answered || taken > answered + 1)
    throw std::runtime_error(name + ": " + std::to_string(answered) + " steps were answered, " +
                             std::to_string(taken) + " are known");
  if (taken > 0) life.await(berthd, steps[taken - 1]);
  for (; taken < std::size(steps); ++taken) {
    life.take(steps[taken]);
    life.await(berthd, steps[taken]);
  }
}

void run_lane(unsigned chosen, int lane) {
  Random random = random_of(chosen, unsigned(lane));
  Berthd berthd({"--rate-limits", "off"});
  Operator owner = operator_with_token(berthd, "ada");
  for (int round = 0; round < rounds_of_a_lane; ++round) {
    try {
      // The same name is used again, because it is free once the deployment before is destroyed.
      one_round(berthd, owner, "hello", random);
    } catch (const std::exception& failure) {
      throw std::runtime_error("round " + std::to_string(round) + ": " + failure.what() + "; " +
                               berthd.end_of_log());
    }
  }
}

}  // namespace

TEST_CASE("a kill at a random moment changes nothing in the end") {
  const unsigned chosen = seed();
  WARN("BERTH_SEED=" << chosen);
  std::vector<std::future<void>> running;
  for (int lane = 0; lane < lanes; ++lane)
    running.push_back(std::async(std::launch::async, run_lane, chosen, lane));
  for (int lane = 0; lane < lanes; ++lane) {
    INFO("lane " << lane);
    CHECK_NOTHROW(running[size_t(lane)].get());
  }
}

TEST_CASE("after a restart, each deployment is as its owner left it") {
  Berthd berthd(open_flags());
  Operator ada = operator_with_token(berthd, "ada");
  const std::string running = deploy(ada.api, order("running"));
  const std::string stopped = deploy(ada.api, order("stopped"));
  const std::string deleted = deploy(ada.api, order("deleted"));
  const std::string broken = deploy(ada.api, order("broken", "ghcr.io/ada/missing:1"));
  const std::string unseen = deploy(ada.api, order("unseen"));
  wait_until_status(ada.api, stopped, "running");
  wait_until_status(ada.api, deleted, "running");
  expect(200, ada.api.post("/api/deploy/apps/" + stopped + "/stop"));
  expect(200, ada.api.remove("/api/deploy/apps/" + deleted));
  expect(200, ada.api.remove("/api/deploy/apps/" + unseen));
  SECTION("killed") { berthd.kill(); }
  SECTION("ended") { CHECK(berthd.terminate() == 0); }
  berthd.start();

  CHECK(eventually([&] { return page_of(berthd, "running").status == 200; }));
  wait_until_status(ada.api, running, "running");
  CHECK(wait_until_status(ada.api, broken, "errored").at("reason") == "image_pull_failed");
  CHECK(status_of(ada.api, stopped).at("status") == "stopped");
  CHECK(status_of(ada.api, deleted).at("status") == "destroyed");
  for (const char* name : {"stopped", "deleted", "unseen", "broken"})
    CHECK(page_of(berthd, name).status != 200);
  CHECK(ada.api.get("/api/deploy/apps").body["total"] == 3);
  CHECK(expect(200, Client(berthd).get("/api/internal/deploy/orphans", admin(berthd)))
            .body.at("deployments")
            .empty());
}
