#include "reconcilers/embedded/node/output.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace berth::embedded {
namespace {

constexpr std::int64_t nanoseconds_of_second = 1'000'000'000;

}  // namespace

std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string nano_timestamp(std::int64_t at) {
  const std::time_t seconds = at / nanoseconds_of_second;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + length, text.size() - length, ".%09lldZ",
                static_cast<long long>(at % nanoseconds_of_second));
  return text.data();
}

}  // namespace berth::embedded
