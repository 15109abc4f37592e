#include "reconcilers/loops/loops.h"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <semaphore>
#include <thread>

#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using reconcilers::Loops;

struct Fixture {
  World world;
  prometheus::Registry registry;
  Loops loops{world.db, nullptr, registry};

  double rounds(const std::string& loop, const std::string& outcome) {
    for (const auto& family : registry.Collect())
      for (const auto& metric : family.metric) {
        REQUIRE(family.name == "berth_loop_rounds_total");
        REQUIRE(metric.label.size() == 2);
        if (metric.label[0].value == loop && metric.label[1].value == outcome)
          return metric.counter.value;
      }
    return -1;
  }
};

// What happened, in its order.
class Events {
 public:
  void add(const std::string& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    changed_.notify_all();
  }
  bool wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return events_.size() >= count; });
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
};

Loops::Part part(Events& events, const std::string& name) {
  return {.start = [&events, name] { events.add(name + " starts"); },
          .stop = [&events, name] { events.add(name + " stops"); }};
}

TEST_CASE("loops and parts start in their order and stop in the opposite one") {
  Fixture f;
  Events events;
  std::binary_semaphore in_round{0};
  f.loops.add(part(events, "first"));
  f.loops.add({.name = "loop",
               .interval = 1h,
               .round =
                   [&](Round& round) {
                     events.add(round.is_stopping() ? "last round" : "round");
                     in_round.release();
                   },
               .at_end = true,
               .failure = "failed"});
  f.loops.add(part(events, "last"));
  f.loops.start();
  in_round.acquire();
  REQUIRE(events.wait_for(3));
  f.loops.stop();
  f.loops.stop();  // does nothing
  const auto all = events.all();
  REQUIRE(all.size() == 6);
  CHECK(all.front() == "first starts");
  CHECK(std::vector(all.begin() + 3, all.end()) ==
        std::vector<std::string>{"last stops", "last round", "first stops"});
}

TEST_CASE("what was started ends if a later part can't start") {
  Fixture f;
  Events events;
  f.loops.add(part(events, "first"));
  f.loops.add(Loops::Part{.start = [] { throw std::runtime_error("no"); },
                          .stop = [&] { events.add("second stops"); }});
  f.loops.add(part(events, "third"));
  CHECK_THROWS_AS(f.loops.start(), std::runtime_error);
  f.loops.stop();
  CHECK(events.all() == std::vector<std::string>{"first starts", "second stops", "first stops"});
}

TEST_CASE("a round that fails is counted, and the next one knows that it is a new beginning") {
  Fixture f;
  Events events;
  int number = 0;
  f.loops.add({.name = "loop",
               .interval = 1ms,
               .round =
                   [&](Round& round) {
                     if (number == 4) return;
                     events.add(round.is_first() ? "first" : "next");
                     if (++number == 2) throw std::runtime_error("no");
                   },
               .failure = "a round failed, as it should"});
  f.loops.start();
  REQUIRE(events.wait_for(4));
  f.loops.stop();
  CHECK(events.all() == std::vector<std::string>{"first", "next", "first", "next"});
  CHECK(f.rounds("loop", "failed") == 1);
  CHECK(f.rounds("loop", "done") >= 3);
}

TEST_CASE("a loop that is woken goes on at once, and its rest is kept") {
  Fixture f;
  Events events;
  f.loops.add({.name = "loop",
               .interval = 1h,
               .round = [&](Round&) { events.add("round"); },
               .failure = "failed"});
  f.loops.add({.name = "resting",
               .interval = 1h,
               .rest = 1h,
               .round = [&](Round&) { events.add("round"); },
               .failure = "failed"});
  f.loops.start();
  REQUIRE(events.wait_for(2));
  f.loops.wake("resting");
  f.loops.wake("loop");
  REQUIRE(events.wait_for(3));
  CHECK_THROWS_AS(f.loops.wake("none"), std::invalid_argument);
  f.loops.stop();
  CHECK(f.rounds("resting", "done") == 1);
  CHECK(f.rounds("loop", "done") >= 2);
}

TEST_CASE("a round that waits holds up no other loop") {
  Fixture f;
  Events events;
  const auto waits = [&](Round& round) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    events.add("waits");
    stopped.wait(lock, round.stop_token(), [] { return false; });
  };
  for (const char* name : {"slow", "slower", "slowest"})
    f.loops.add({.name = name, .round = waits, .failure = "failed"});
  int rounds = 0;
  f.loops.add({.name = "quick",
               .interval = 1ms,
               .round =
                   [&](Round&) {
                     if (++rounds <= 20) events.add("quick");
                   },
               .failure = "failed"});
  f.loops.start();
  CHECK(events.wait_for(3 + 20));
  f.loops.stop();
  CHECK(f.rounds("slow", "done") == 1);
}

TEST_CASE("all loops are asked to end at once, and begin no other round") {
  Fixture f;
  Events events;
  const auto wait_until_asked = [](Round& round) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait(lock, round.stop_token(), [] { return false; });
  };
  f.loops.add({.name = "earlier",
               .round =
                   [&](Round& round) {
                     events.add("waits");
                     wait_until_asked(round);
                     events.add("asked");
                   },
               .failure = "failed"});
  bool is_earlier_asked = false;
  f.loops.add({.name = "later",  // ends first
               .round =
                   [&](Round& round) {
                     events.add("waits");
                     wait_until_asked(round);
                     is_earlier_asked = events.wait_for(3);
                   },
               .failure = "failed"});
  f.loops.start();
  REQUIRE(events.wait_for(2));
  f.loops.stop();
  CHECK(is_earlier_asked);
  CHECK(f.rounds("earlier", "done") == 1);
  CHECK(f.rounds("later", "done") == 1);
}

TEST_CASE("of two processes one runs a loop with a lease; each runs those without") {
  World world;
  Replicas own(world.db), others(world.db);
  own.beat();
  others.beat();
  Round mine(world.db, &own, "loop"), theirs(world.db, &others, "loop");
  bool was_first = false;
  const auto run = [&](Round& round) {
    return round.run([&](Round& running) { was_first = running.is_first(); });
  };
  CHECK(run(mine));
  CHECK(was_first);
  CHECK(run(mine));
  CHECK_FALSE(was_first);
  CHECK_FALSE(run(theirs));
  own.leave();
  others.beat();
  CHECK(run(theirs));
  CHECK(was_first);
  CHECK_THROWS_AS(mine.write([](db::Tx&) {}), Replicas::LoopLost);
  own.beat();
  CHECK_FALSE(run(mine));
  Round each(world.db, &own, "");
  CHECK(run(each));
}

TEST_CASE("a round repeats its writes until nothing is due or berthd stops") {
  World world;
  std::stop_source stop;
  Round round(world.db, nullptr, "", stop.get_token());
  int left = 5;
  const auto is_due = [&](db::Tx&) { return left > 0; };
  const auto some = [&](db::Tx&) {
    --left;
    return 2;
  };
  CHECK(round.repeat(is_due, some) == 10);
  const auto writes = world.db.writes();
  CHECK(round.repeat_with_row_locks(is_due, some) == 0);
  CHECK(world.db.writes() == writes);
  left = 5;
  CHECK(round.repeat(is_due, [](db::Tx&) { return 0; }) == 0);  // although something seems due
  stop.request_stop();
  CHECK(round.repeat(is_due, some) == 0);
}

}  // namespace
