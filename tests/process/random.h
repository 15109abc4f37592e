#pragma once

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>

namespace berth::process {

// Another one each time, or BERTH_SEED, to see a failure again.
inline unsigned seed() {
  const char* given = std::getenv("BERTH_SEED");
  return given != nullptr ? unsigned(std::stoul(given)) : std::random_device{}();
}

using Random = std::minstd_rand;

inline std::chrono::milliseconds up_to(Random& random, int milliseconds) {
  return std::chrono::milliseconds(std::uniform_int_distribution<int>(0, milliseconds)(random));
}

}  // namespace berth::process
