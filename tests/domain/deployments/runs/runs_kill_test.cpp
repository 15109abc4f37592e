// A release and a minute of a cron run at most once, wherever the process that makes them is
// killed: in a transaction, after it, and between what it tells the cluster and what it records.
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <map>
#include <stdexcept>

#include "tests/domain/deployments/runs/runs_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using runs::Run;

struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

// A Job of the cluster, which has the name of its run.
struct Job {
  bool is_running = false;
  bool has_ended = false;
  int exit_code = 0;
};

// What the loops do in each round, on a cluster that keeps its Jobs while they are killed. Each
// step may be the last one of a process.
class Platform {
 public:
  Platform() {
    deployments::ContainerSpec container = with_cron("* * * * *");
    container.release_command = {"./migrate"};
    id_ = world_.deploy_with(container).id;
  }

  void round() {
    try {
      settle_crons();
      begin_release();
      make_jobs();
      record_jobs();
      roll_out();
    } catch (const Killed&) {
      ++kills_;
    }
  }
  void act() {
    const int what = *rc::gen::inRange(0, 8);
    if (what == 0) world_.patch_image(id_, "ghcr.io/acme/web:" + std::to_string(++images_));
    if (what == 1) world_.restart(world_.app, id_);
    if (what == 2) world_.stop(world_.app, id_);
    for (auto& [run, job] : jobs_) {
      if (job.has_ended) continue;
      const bool begins = !job.is_running && *rc::gen::inRange(0, 2) == 0;
      const bool ends = job.is_running && *rc::gen::inRange(0, 3) == 0;
      if (begins) start(run, job);
      if (ends)
        job = {.is_running = false, .has_ended = true, .exit_code = *rc::gen::inRange(0, 2)};
    }
    world_.clock.advance(std::chrono::seconds(*rc::gen::inRange(0, 150)));
  }

  // What ran, by what it was for, and how often.
  const std::map<std::string, int>& starts() const { return starts_; }
  int kills() const { return kills_; }
  // Lets everything that is under way end without kills, and says whether it did.
  bool settles() {
    is_killed_ = false;
    for (int i = 0; i < 20; ++i) {
      round();
      for (auto& [run, job] : jobs_) {
        if (!job.has_ended && !job.is_running) start(run, job);
        job.has_ended = true;
      }
    }
    round();
    return world_.read([&](db::Tx& tx) { return runs::open_of(tx, id_).empty(); });
  }

 private:
  bool is_time_to_die() const { return is_killed_ && *rc::gen::inRange(0, 6) == 0; }
  void may_be_killed() const {
    if (is_time_to_die()) throw Killed();
  }
  // A transaction of the process, which is killed before, within or after it.
  template <typename Work>
  void write(const Work& work) {
    may_be_killed();
    const bool dies_within = is_time_to_die();  // the work runs on another thread
    world_.write([&](db::Tx& tx) {
      work(tx);
      if (dies_within) throw Killed();
    });
    may_be_killed();
  }

  void start(const std::string& run_id, Job& job) {
    job.is_running = true;
    const Run run = world_.find_run(run_id);
    ++starts_[run.kind == runs::Kind::release ? "release " + std::to_string(run.generation)
                                              : "minute " + to_iso8601(*run.minute)];
  }
  void settle_crons() {
    const auto due = world_.read([](db::Tx& tx) { return crons::due(tx, 10); });
    for (const auto& key : due) write([&](db::Tx& tx) { crons::settle_due(tx, key); });
  }
  void begin_release() {
    if (world_.release_of(id_).state == releases::State::needed)
      write([&](db::Tx& tx) { releases::begin(tx, id_); });
  }
  void make_jobs() {
    for (const Run& run : open()) {
      if (run.status != runs::Status::pending || run.made_at) continue;
      may_be_killed();
      jobs_.try_emplace(run.id);  // the cluster has one object of a name
      may_be_killed();
      write([&](db::Tx& tx) { runs::record_made(tx, run.id); });
    }
  }
  void record_jobs() {
    for (const Run& run : open()) {
      const auto job = jobs_.find(run.id);
      if (job == jobs_.end()) continue;
      runs::Seen seen;
      if (job->second.is_running || job->second.has_ended) seen.started_at = world_.clock.now();
      if (job->second.has_ended)
        seen.end = runs::End{.at = world_.clock.now(), .exit_code = job->second.exit_code};
      write([&](db::Tx& tx) { runs::record(tx, run.id, seen); });
    }
    // Jobs whose runs are over, and those of runs that nobody knows, are removed.
    std::erase_if(jobs_, [&](const auto& each) {
      const auto run = world_.read([&](db::Tx& tx) { return runs::find(tx, each.first); });
      return !run || runs::is_over(run->status);
    });
  }
  void roll_out() {
    const auto row = world_.find_deployment(id_);
    const auto release = world_.release_of(id_);
    if (row.status == deployments::Status::stopped || !release.lets_rollout_go_on()) return;
    deployments::Observation seen;
    seen.status = deployments::Status::running;
    write([&](db::Tx& tx) { deployments::record(tx, id_, row.generation, seen); });
  }
  std::vector<Run> open() {
    return world_.read([&](db::Tx& tx) { return runs::open_of(tx, id_); });
  }

  RunsWorld world_;
  std::string id_;
  std::map<std::string, Job> jobs_;  // by the ids of their runs
  std::map<std::string, int> starts_;
  int images_ = 0;
  int kills_ = 0;
  bool is_killed_ = true;
};

}  // namespace

TEST_CASE("a release and a minute of a cron run at most once, whenever the process is killed") {
  int kills = 0;
  std::size_t started = 0;
  CHECK(rc::check([&] {
    Platform platform;
    const int rounds = *rc::gen::inRange(5, 20);
    for (int i = 0; i < rounds; ++i) {
      platform.act();
      platform.round();
    }
    RC_ASSERT(platform.settles());
    for (const auto& [what, times] : platform.starts()) {
      RC_LOG() << what << " ran " << times << " times";
      RC_ASSERT(times == 1);
    }
    kills += platform.kills();
    started += platform.starts().size();
  }));
  CHECK(kills > 0);
  CHECK(started > 0);
}
