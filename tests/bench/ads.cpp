// Measures the choice of a campaign in memory: nanoseconds for one choice, with the given number of
// campaigns.
//
// usage: bench_ads CAMPAIGNS SECONDS
#include <cstdio>
#include <cstdlib>

#include "controller/domain/ads/choice.h"

namespace {

using namespace berth;
using namespace berth::ads;

constexpr int geographies = 50;
constexpr int looked_at_once = 1'000;  // choices between two readings of the clock

// Half of the campaigns are for everybody, the others for one geography each; a third has an end.
Choice::Campaign campaign(int i, Instant now) {
  Choice::Campaign one = {.id = "campaign " + std::to_string(i),
                          .owner_id = "owner " + std::to_string(i % 1'000),
                          .surface_type = SurfaceType::banner,
                          .payout_rate = 1 + i % 20,
                          .impressions = 1'000'000'000,
                          .starts_at = now};
  if (i % 3 == 0) one.ends_at = now + std::chrono::days(1);
  if (i % 2 == 1)
    one.slots[0].audiences[0][2] = {.mode = i % 4 == 1 ? MatchMode::exact : MatchMode::prefix,
                                    .value = std::to_string(i % geographies)};
  return one;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: bench_ads CAMPAIGNS SECONDS\n", stderr), 2;
  const int campaigns = std::atoi(argv[1]);
  Choice choice;
  Choice::Request request = {.surface_type = SurfaceType::banner,
                             .owner_id = "owner 0",
                             .now = *parse_iso8601("2026-01-31T00:00:00Z")};
  for (int i = 0; i < campaigns; ++i) choice.put(campaign(i, request.now), request.now);
  const auto start = std::chrono::steady_clock::now();
  const auto end = start + std::chrono::seconds(std::atoi(argv[2]));
  std::int64_t choices = 0;
  for (; std::chrono::steady_clock::now() < end; choices += looked_at_once)
    for (int i = 0; i < looked_at_once; ++i) {
      request.viewing[2] = std::to_string(i % geographies);
      if (!choice.choose(request, [](const Choice::Offer&) { return true; })) return 1;
    }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  std::printf("%.0f\n", took.count() / double(choices));
}
