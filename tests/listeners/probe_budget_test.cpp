#include "berthd/probe_budget.h"

#include <catch2/catch.hpp>

using namespace berth;
using namespace std::chrono_literals;

TEST_CASE("each network has some probes in a second, whatever others ask for") {
  ProbeBudget budget;
  const ProbeBudget::Now now(100s);
  const auto taken = [&](const char* address, ProbeBudget::Now at) {
    std::uint64_t count = 0;
    while (count < 1'000 && budget.take(address, at)) ++count;
    return count;
  };
  CHECK(taken("192.0.2.1", now) == ProbeBudget::most_in_a_second);
  CHECK(taken("192.0.2.1", now + 999ms) == 0);
  CHECK(taken("198.51.100.1", now + 999ms) == ProbeBudget::most_in_a_second);
  CHECK(taken("192.0.2.1", now + 1s) == ProbeBudget::most_in_a_second);
  // The addresses of a /64 are one network's.
  CHECK(taken("2001:db8:1:2::1", now) == ProbeBudget::most_in_a_second);
  CHECK(taken("2001:db8:1:2::2", now) == 0);
}
