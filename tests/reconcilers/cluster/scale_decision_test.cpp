// How many containers are wanted, without clock, cluster or database.
#include "reconcilers/cluster/scale_decision.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace berth::reconcilers;
using namespace std::chrono_literals;
using berth::deployments::Scale;

namespace {

constexpr auto quiet = 5min;

// Any scale that the API lets pass, and loads that go from nothing to far beyond it.
class Chance {
 public:
  explicit Chance(unsigned seed) : random_(seed) {}
  int number(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }
  Scale scale() {
    const int max = number(1, 100);
    return {.min = number(1, max), .max = max, .in_flight = number(1, 50)};
  }
  double load() {
    return number(0, 9) == 0 ? 0 : std::exp(std::uniform_real_distribution<>(-3, 9)(random_));
  }

 private:
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("so many containers are wanted that none has more requests than it is to have") {
  const Scale scale = {.min = 1, .max = 5, .in_flight = 20};
  CHECK(containers_for(0, scale) == 1);
  CHECK(containers_for(20, scale) == 1);
  CHECK(containers_for(20.1, scale) == 2);
  CHECK(containers_for(100, scale) == 5);
  CHECK(containers_for(1e300, scale) == 5);
  CHECK(containers_for(-1, scale) == 1);
  CHECK(containers_for(std::numeric_limits<double>::quiet_NaN(), scale) == 1);
  CHECK(containers_for(std::numeric_limits<double>::infinity(), scale) == 5);
}

TEST_CASE("more containers come at once, fewer only after a time that is known to be quiet") {
  const Scale scale = {.min = 1, .max = 5, .in_flight = 20};
  CHECK(next_containers(scale, 1, 100, std::nullopt) == 5);
  CHECK(next_containers(scale, 5, 0, std::nullopt) == 5);
  CHECK(next_containers(scale, 5, 0, 60) == 3);
  CHECK(next_containers(scale, 5, 0, 0) == 1);
  // What is in flight now is served, even if the greatest load of the time before was smaller.
  CHECK(next_containers(scale, 5, 70, 10) == 4);
}

TEST_CASE("the number is within the limits, rises with the load, and falls in quiet times alone") {
  const auto seed = GENERATE(1U, 2U, 3U, 4U);
  Chance chance(seed);
  for (int i = 0; i < 20'000; ++i) {
    const Scale scale = chance.scale();
    const int present = chance.number(1, 100);
    const double load = chance.load();
    const double more = load + chance.load();
    const std::optional<double> greatest =
        chance.number(0, 1) == 0 ? std::nullopt : std::optional(chance.load());
    CAPTURE(seed, scale.min, scale.max, scale.in_flight, present, load, more,
            greatest.value_or(-1));
    const int next = next_containers(scale, present, load, greatest);
    REQUIRE(next >= scale.min);
    REQUIRE(next <= scale.max);
    REQUIRE((next == scale.max || next * double(scale.in_flight) >= load));
    REQUIRE(next_containers(scale, present, more, greatest) >= next);
    const int within = std::clamp(present, scale.min, scale.max);
    if (!greatest) REQUIRE(next >= within);
    if (next < within) REQUIRE(next >= containers_for(*greatest, scale));
    // A second decision by the same figures changes nothing, so that nothing is written twice.
    REQUIRE(next_containers(scale, next, load, greatest) == next);
  }
}

TEST_CASE("the quiet time knows the greatest load since it began, once it has passed") {
  QuietTime time;
  const LoadTime begin{};
  for (auto at = 0s; at < 5min; at += 2s) {
    CHECK_FALSE(time.greatest(begin + at, quiet));
    time.add(begin + at, at == 10s ? 80 : 3, quiet);
  }
  time.add(begin + 5min, 3, quiet);
  CHECK(time.greatest(begin + 5min, quiet) == 80);
  time.add(begin + 5min + 10s, 3, quiet);
  CHECK(time.greatest(begin + 5min + 10s, quiet) == 80);
  time.add(begin + 5min + 12s, 3, quiet);
  CHECK(time.greatest(begin + 5min + 12s, quiet) == 3);
}

TEST_CASE("a time without looks isn't quiet") {
  QuietTime time;
  const LoadTime begin{};
  auto at = 0s;
  for (; at <= 5min; at += 2s) time.add(begin + at, 1, quiet);
  REQUIRE(time.greatest(begin + at, quiet));
  at += 40s;
  time.add(begin + at, 1, quiet);
  CHECK_FALSE(time.greatest(begin + at, quiet));
  for (const auto again = at; at < again + 5min; at += 2s) time.add(begin + at, 1, quiet);
  time.add(begin + at, 1, quiet);
  CHECK(time.greatest(begin + at, quiet) == 1);
}

TEST_CASE("the quiet time's greatest load is that of all its looks") {
  const auto seed = GENERATE(5U, 6U);
  Chance chance(seed);
  QuietTime time;
  std::vector<std::pair<LoadTime, double>> all;
  LoadTime now{};
  for (int i = 0; i < 2'000; ++i) {
    now += std::chrono::milliseconds(chance.number(500, 4'000));
    all.emplace_back(now, chance.load());
    time.add(now, all.back().second, quiet);
    const auto known = time.greatest(now, quiet);
    if (now - all.front().first < quiet) {
      REQUIRE_FALSE(known);
      continue;
    }
    double greatest = 0;
    for (const auto& [at, load] : all)
      if (now - at <= quiet) greatest = std::max(greatest, load);
    REQUIRE(known == greatest);
  }
}
