#include "api/gate/heavy_reads.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <future>

#include "controller/db/request_limits.h"

using namespace berth;
using namespace berth::api;

namespace {

int nice_value_of_thread() { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())); }

}  // namespace

TEST_CASE("a heavy read gets a processor after all others") {
  HeavyReads reads(Pool::heavy_reads, 1);
  int inside = 0;
  std::thread::id thread;
  reads.run([&] {
    inside = nice_value_of_thread();
    thread = std::this_thread::get_id();
  });
  CHECK(inside > nice_value_of_thread());
  CHECK(thread != std::this_thread::get_id());
}

TEST_CASE("what a heavy read throws reaches its caller") {
  HeavyReads reads(Pool::heavy_reads, 1);
  CHECK_THROWS_WITH(reads.run([] { throw std::runtime_error("no such page"); }), "no such page");
  bool ran = false;
  reads.run([&] { ran = true; });
  CHECK(ran);
}

TEST_CASE("a heavy read that finds no free thread is given up") {
  HeavyReads reads(Pool::heavy_reads, 1);
  std::promise<void> may_end;
  std::promise<void> began;
  std::thread first([&] {
    reads.run([&] {
      began.set_value();
      may_end.get_future().wait();
    });
  });
  began.get_future().wait();
  bool ran = false;
  CHECK_THROWS_AS(reads.run([&] { ran = true; }), db::TooSlow);
  may_end.set_value();
  first.join();
  reads.run([] {});
  CHECK_FALSE(ran);
}

TEST_CASE("many threads share few for heavy reads") {
  HeavyReads reads(Pool::heavy_reads, 2);
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  std::atomic<int> done = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 16; ++i)
    callers.emplace_back([&] {
      for (int j = 0; j < 50; ++j)
        reads.run([&] {
          const int at_once = ++now;
          for (int seen = most; at_once > seen && !most.compare_exchange_weak(seen, at_once);) {
          }
          ++done;
          --now;
        });
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(done == 16 * 50);
  CHECK(most <= 2);
}
