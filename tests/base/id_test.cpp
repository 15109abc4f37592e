#include "controller/base/id.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <set>
#include <thread>
#include <vector>

namespace {

using namespace berth;

constexpr std::int64_t end_of_48_bits = std::int64_t(1) << 48;

TEST_CASE("ids are UUIDs of version 7 and of the RFC's variant") {
  const std::string id = new_uuid(from_millis(0x0193'6f5e'7c1a));
  CHECK(is_uuid(id));
  CHECK(id.substr(0, 15) == "01936f5e-7c1a-7");
  CHECK(std::string("89ab").find(id[19]) != std::string::npos);
}

TEST_CASE("ids sort by the time that they were made") {
  CHECK(rc::check([] {
    const auto earlier = *rc::gen::inRange<std::int64_t>(0, end_of_48_bits - 1);
    const auto later = *rc::gen::inRange<std::int64_t>(earlier + 1, end_of_48_bits);
    RC_ASSERT(new_uuid(from_millis(earlier)) < new_uuid(from_millis(later)));
  }));
}

TEST_CASE("ids that a thread makes in one millisecond sort in their order") {
  const Instant now = from_millis(end_of_48_bits / 3);
  std::string last = new_uuid(now);
  for (int i = 0; i < 100'000; ++i) {
    const std::string next = new_uuid(now);
    REQUIRE(last < next);
    REQUIRE(is_uuid(next));
    last = next;
  }
}

TEST_CASE("ids made in one millisecond by several threads are all different") {
  constexpr int threads = 4, each = 500;
  std::vector<std::vector<std::string>> made(threads);
  {
    std::vector<std::jthread> running;
    for (auto& list : made)
      running.emplace_back([&list] {
        for (int i = 0; i < each; ++i) list.push_back(new_uuid(from_millis(1)));
      });
  }
  std::set<std::string> all;
  for (const auto& list : made) all.insert(list.begin(), list.end());
  CHECK(all.size() == size_t(threads * each));
}

TEST_CASE("is_uuid accepts both cases and nothing else") {
  CHECK(is_uuid("01936f5e-7c1a-7000-8000-000000000001"));
  CHECK(is_uuid("01936F5E-7C1A-7000-8000-00000000000A"));
  for (const char* text :
       {"", "01936f5e7c1a70008000000000000001", "01936f5e-7c1a-7000-8000-00000000000",
        "01936f5e-7c1a-7000-8000-0000000000011", "01936f5e-7c1a-7000-8000-00000000000g",
        "{1936f5e-7c1a-7000-8000-00000000000}", "01936f5e_7c1a-7000-8000-000000000001",
        "' OR 1=1 --                         "}) {
    INFO(text);
    CHECK_FALSE(is_uuid(text));
  }
}

}  // namespace
