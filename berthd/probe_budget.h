#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace berth {

// How many requests for /health an overloaded server still answers at once: some of each network in
// a second, which is plenty for probes and load balancers. Without a limit, a single client that
// asks for nothing else would get each place that becomes free, and everybody else would wait.
// Thread-safe.
class ProbeBudget {
 public:
  using Now = std::chrono::steady_clock::time_point;
  static constexpr std::uint64_t most_in_a_second = 10;

  // Returns whether the network of this address has one left. Networks that share a counter by
  // chance share what it allows.
  bool take(std::string_view address, Now now);

 private:
  static constexpr std::size_t counters = 1'024;
  static constexpr int bits_of_count = 16;

  // Each has the second in its upper bits, and how many were taken in it in the lower ones.
  std::array<std::atomic<std::uint64_t>, counters> taken_{};
};

}  // namespace berth
