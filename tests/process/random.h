#pragma once

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>

namespace berth::process {

// Returns a new seed each time; or BERTH_SEED, to reproduce a failure.
inline unsigned seed() {
  const char* given = std::getenv("BERTH_SEED");
  return given != nullptr ? unsigned(std::stoul(given)) : std::random_device{}();
}

using Random = std::mt19937;

// Returns another sequence of numbers for each `lane`, however close the lanes and seeds are.
inline Random random_of(unsigned seed, unsigned lane = 0) {
  std::seed_seq mixed{seed, lane};
  return Random(mixed);
}

inline std::chrono::milliseconds up_to(Random& random, int milliseconds) {
  return std::chrono::milliseconds(std::uniform_int_distribution<int>(0, milliseconds)(random));
}

}  // namespace berth::process
