#include "reconcilers/cluster/work_queue.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using berth::reconcilers::WorkQueue;

namespace {

// A queue whose time stands still until it is moved.
struct World {
  WorkQueue::SteadyClock::time_point now{};
  WorkQueue queue{{}, [this] { return now; }};
  std::string next() { return queue.try_get().value_or("nothing"); }
};

}  // namespace

TEST_CASE("a key is in the queue once, in the order of the first adds") {
  World world;
  for (const char* key : {"a", "b", "a", "b", "c"}) world.queue.add(key);
  CHECK(world.queue.depth() == 3);
  CHECK(world.next() == "a");
  CHECK(world.next() == "b");
  CHECK(world.next() == "c");
  CHECK(world.next() == "nothing");
}

TEST_CASE("a key that is added while a worker holds it comes up again afterwards, once") {
  World world;
  world.queue.add("a");
  CHECK(world.next() == "a");
  world.queue.add("a");
  world.queue.add("a");
  CHECK(world.next() == "nothing");
  world.queue.done("a");
  CHECK(world.next() == "a");
  world.queue.done("a");
  CHECK(world.next() == "nothing");
}

TEST_CASE("a delayed key comes when it is due, and the sooner of two times counts") {
  World world;
  world.queue.add_after("a", 10s);
  world.queue.add_after("a", 5s);
  world.queue.add_after("a", 20s);
  world.now += 4999ms;
  CHECK(world.next() == "nothing");
  world.now += 1ms;
  CHECK(world.next() == "a");
  world.queue.done("a");
  world.now += 1h;
  CHECK(world.next() == "nothing");
}

TEST_CASE("taking a key cancels earlier delays, but not later ones") {
  World world;
  world.queue.add_after("a", 5s);
  world.queue.add("a");
  CHECK(world.next() == "a");
  world.queue.add_after("a", 8s);
  world.queue.done("a");
  world.now += 5s;
  CHECK(world.next() == "nothing");
  world.now += 3s;
  CHECK(world.next() == "a");
}

TEST_CASE("back-off doubles for each key alone, up to its end, until it is forgotten") {
  World world;
  std::vector<std::chrono::milliseconds> waits;
  for (int i = 0; i < 20; ++i) {
    world.queue.add_rate_limited("a");
    auto waited = 0ms;
    while (!world.queue.try_get()) {
      world.now += 5ms;
      waited += 5ms;
    }
    world.queue.done("a");
    waits.push_back(waited);
  }
  CHECK(waits[0] == 5ms);
  CHECK(waits[1] == 10ms);
  CHECK(waits[10] == 5120ms);
  CHECK(waits[19] == WorkQueue::longest_back_off);
  CHECK(world.queue.retries("a") == 20);
  CHECK(world.queue.retries("b") == 0);
  world.queue.forget("a");
  world.queue.add_rate_limited("a");
  world.now += 5ms;
  CHECK(world.next() == "a");
}

TEST_CASE("a retry waits for as long as an answer asks, but for no hour") {
  World world;
  const auto is_due_after = [&](std::chrono::seconds wait) {
    world.now += wait - 1ms;
    const bool is_early = world.next() == "a";
    world.now += 1ms;
    return !is_early && world.next() == "a";
  };
  world.queue.retry("a", 2s);
  CHECK(is_due_after(2s));
  world.queue.done("a");
  world.queue.retry("a", 3600s);
  CHECK(is_due_after(WorkQueue::longest_asked));
  world.queue.done("a");
  CHECK(world.queue.retries("a") == 0);
  world.queue.retry("a", std::nullopt);
  CHECK(world.queue.retries("a") == 1);
}

TEST_CASE("after the shutdown nobody gets a key, and drain waits for those that are held") {
  World world;
  world.queue.add("a");
  world.queue.add("b");
  CHECK(world.next() == "a");
  world.queue.shut_down();
  CHECK(world.next() == "nothing");
  CHECK_FALSE(world.queue.get().has_value());
  CHECK_FALSE(world.queue.drain(1ms));
  std::thread worker([&] { world.queue.done("a"); });
  CHECK(world.queue.drain(60s));
  worker.join();
}

TEST_CASE("the observer is told of adds, waits, work and retries") {
  auto now = WorkQueue::SteadyClock::time_point{};
  int added = 0, retried = 0;
  std::chrono::duration<double> waited{}, worked{};
  WorkQueue queue({.added = [&] { ++added; },
                   .retried = [&] { ++retried; },
                   .waited = [&](auto time) { waited += time; },
                   .worked = [&](auto time) { worked += time; }},
                  [&] { return now; });
  queue.add("a");
  queue.add("a");
  now += 2s;
  REQUIRE(queue.try_get() == "a");
  now += 3s;
  CHECK(queue.unfinished() == 3s);
  CHECK(queue.longest_running() == 3s);
  queue.done("a");
  queue.add_rate_limited("a");
  CHECK(added == 1);
  CHECK(retried == 1);
  CHECK(waited == 2s);
  CHECK(worked == 3s);
  CHECK(queue.unfinished() == 0s);
}

TEST_CASE("keys are handled by threads of the queue, also while all but one wait") {
  WorkQueue queue;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> handled;
  bool may_go_on = false;
  queue.add("before");
  queue.serve("test", 4, [&](const std::string& key) {
    std::unique_lock lock(mutex);
    handled.push_back(key);
    changed.notify_all();
    if (key == "slow") changed.wait(lock, [&] { return may_go_on; });
  });
  const auto are_handled = [&](std::size_t count) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, 30s, [&] { return handled.size() == count; });
  };
  CHECK(are_handled(1));
  queue.add("slow");
  CHECK(are_handled(2));
  // A key that is due later finds a thread, although the one that waited is busy.
  queue.add_after("later", 20ms);
  queue.add("at once");
  CHECK(are_handled(4));
  queue.add("slow");  // comes up again once its thread is done
  {
    const std::lock_guard lock(mutex);
    CHECK(std::ranges::count(handled, "later") == 1);
    may_go_on = true;
    changed.notify_all();
  }
  CHECK(are_handled(5));
  queue.stop();
  queue.add("after");
  CHECK(queue.depth() == 0);
  CHECK(handled.back() == "slow");
}

TEST_CASE("several workers never hold the same key, and every add is followed by a look") {
  constexpr int keys = 20, adders = 4, adds = 3'000;
  WorkQueue queue;
  std::array<std::atomic<int>, keys> holders{}, version{}, seen{};
  std::atomic<bool> shared = false;
  std::vector<std::thread> workers, writers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      while (const auto key = queue.get()) {
        const auto k = size_t(std::stoi(*key));
        if (++holders[k] > 1) shared = true;
        seen[k] = version[k].load();
        std::this_thread::yield();
        --holders[k];
        queue.done(*key);
      }
    });
  }
  for (unsigned i = 0; i < adders; ++i) {
    writers.emplace_back([&, i] {
      std::minstd_rand random(i + 1);
      for (int n = 0; n < adds; ++n) {
        const auto k = size_t(std::uniform_int_distribution<int>(0, keys - 1)(random));
        ++version[k];
        if (n % 3 == 0)
          queue.add_after(std::to_string(k), 1ms);
        else
          queue.add(std::to_string(k));
      }
    });
  }
  for (auto& writer : writers) writer.join();
  const auto all_seen = [&] {
    for (size_t k = 0; k < keys; ++k)
      if (seen[k] != version[k]) return false;
    return true;
  };
  const auto limit = std::chrono::steady_clock::now() + 30s;
  while (!all_seen() && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(1ms);
  CHECK(all_seen());
  CHECK_FALSE(shared);
  queue.shut_down();
  for (auto& worker : workers) worker.join();
}
