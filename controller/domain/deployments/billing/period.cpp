#include "controller/domain/deployments/billing/period.h"

#include <algorithm>

namespace berth::billing {
namespace {

constexpr std::int64_t whole = period_length.count();

std::int64_t share(std::int64_t points, Duration left, std::int64_t round) {
  const std::int64_t part = std::clamp(left, Duration(0), period_length).count();
  // Computed in two steps, because points · part may have 84 bits; here no product has more than
  // 63.
  return points / whole * part + (points % whole * part + round) / whole;
}

}  // namespace

Period period_at(Instant created_at, Instant at) {
  const auto number = std::max<std::int64_t>((at - created_at) / period_length, 0);
  const Instant start = created_at + number * period_length;
  return {.start = start, .end = start + period_length};
}

std::int64_t share_rounded_up(std::int64_t points, Duration left) {
  return share(points, left, whole - 1);
}

std::int64_t share_rounded_down(std::int64_t points, Duration left) {
  return share(points, left, 0);
}

std::int64_t price_of_change(std::int64_t from, std::int64_t to, Duration left) {
  return to >= from ? share_rounded_up(to - from, left) : -share_rounded_down(from - to, left);
}

}  // namespace berth::billing
