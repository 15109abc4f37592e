#include "controller/base/thread_crew.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;

namespace {

constexpr auto patience = 30s;

// A queue of tasks that wait until they may end, and of one that is due later.
struct Queue {
  explicit Queue(ThreadCrew::Options options) : crew(mutex, completed(std::move(options))) {}
  ~Queue() {
    {
      const std::lock_guard lock(mutex);
      may_end = true;
      is_ending = true;
      changed.notify_all();
    }
    crew.join();
  }

  ThreadCrew::Options completed(ThreadCrew::Options options) {
    options.work = [this](ThreadCrew::Lock& lock) { work(lock); };
    options.next = [this] {
      if (is_ending || waiting > 0) return ThreadCrew::now;
      return later;
    };
    return options;
  }
  void work(ThreadCrew::Lock& lock) {
    while (true) {
      if (waiting == 0 && later <= ThreadCrew::Clock::now()) {
        later = ThreadCrew::never;
        ++waiting;
      }
      if (waiting > 0) {
        --waiting;
        if (later != ThreadCrew::never) crew.call(waiting);
        ++running;
        threads.insert(std::this_thread::get_id());
        changed.notify_all();
        changed.wait(lock, [&] { return may_end; });
        --running;
        ++done;
        changed.notify_all();
      } else if (is_ending || !crew.rest(lock)) {
        changed.notify_all();
        return;
      }
    }
  }
  void add(std::size_t tasks = 1) {
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < tasks; ++i) {
      ++waiting;
      crew.call(waiting);
    }
  }
  void add_later(std::chrono::milliseconds wait) {
    const std::lock_guard lock(mutex);
    later = ThreadCrew::Clock::now() + wait;
    crew.call(0);
  }
  void let_end(bool may) {
    const std::lock_guard lock(mutex);
    may_end = may;
    changed.notify_all();
  }
  template <typename Condition>
  bool becomes(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + patience;
    std::unique_lock lock(mutex);
    while (!condition())
      if (changed.wait_for(lock, 5ms) == std::cv_status::timeout &&
          std::chrono::steady_clock::now() > until)
        return false;
    return true;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::size_t waiting = 0;
  std::size_t running = 0;
  std::size_t done = 0;
  ThreadCrew::Clock::time_point later = ThreadCrew::never;
  std::set<std::thread::id> threads;
  bool may_end = false;
  bool is_ending = false;
  ThreadCrew crew;
};

}  // namespace

TEST_CASE("threads start when work waits, as many as may, and end without work") {
  Queue queue({.most = 3, .idle_lifetime = 20ms});
  CHECK(queue.crew.size() == 0);
  queue.add();
  CHECK(queue.becomes([&] { return queue.running == 1 && queue.crew.size() == 1; }));
  queue.add(5);
  CHECK(queue.becomes([&] { return queue.running == 3; }));
  CHECK(queue.crew.size() == 3);
  queue.let_end(true);
  CHECK(queue.becomes([&] { return queue.done == 6 && queue.crew.size() == 0; }));
  // Others are started afterwards.
  queue.add();
  CHECK(queue.becomes([&] { return queue.done == 7; }));
}

TEST_CASE("some threads stay without work") {
  Queue queue({.most = 8, .kept = 1, .idle_lifetime = 1ms});
  queue.let_end(false);
  queue.add(8);
  CHECK(queue.becomes([&] { return queue.running == 8; }));
  queue.let_end(true);
  CHECK(queue.becomes([&] { return queue.crew.size() == 1; }));
  std::this_thread::sleep_for(20ms);
  CHECK(queue.crew.size() == 1);
}

TEST_CASE("work that one thread can do leaves the others to end") {
  Queue queue({.most = 8, .kept = 1, .idle_lifetime = 100ms});
  queue.add(8);
  CHECK(queue.becomes([&] { return queue.running == 8; }));
  queue.let_end(true);
  const auto until = std::chrono::steady_clock::now() + patience;
  std::size_t left = 8;
  while (left > 2 && std::chrono::steady_clock::now() < until) {
    queue.add();
    std::this_thread::sleep_for(2ms);
    const std::lock_guard lock(queue.mutex);
    left = queue.crew.size();
  }
  CHECK(left <= 2);
}

TEST_CASE("a thread waits for what is due later, also if all others are busy or end") {
  Queue queue({.most = 3, .idle_lifetime = 5ms});
  queue.add_later(100ms);
  CHECK(queue.becomes([&] { return queue.crew.size() == 1; }));
  CHECK(queue.becomes([&] { return queue.running == 1; }));
  queue.add();
  queue.add_later(50ms);
  CHECK(queue.becomes([&] { return queue.running == 3; }));
  queue.let_end(true);
  CHECK(queue.becomes([&] { return queue.crew.size() == 0; }));
  CHECK(queue.done == 3);
}

TEST_CASE("what is due earlier than what a thread waits for comes in time") {
  Queue queue({.most = 2, .kept = 1});
  queue.let_end(true);
  queue.add(2);
  CHECK(queue.becomes([&] { return queue.done == 2; }));
  queue.add_later(1h);
  queue.add_later(1ms);
  CHECK(queue.becomes([&] { return queue.done == 3; }));
}

TEST_CASE("nothing is lost while threads end and work comes in") {
  Queue queue({.most = 4, .idle_lifetime = 0ms});
  queue.let_end(true);
  for (std::size_t i = 1; i <= 2000; ++i) {
    queue.add();
    if (i % 3 == 0) REQUIRE(queue.becomes([&] { return queue.done == i; }));
  }
  CHECK(queue.becomes([&] { return queue.done == 2000 && queue.crew.size() == 0; }));
}
