#include "controller/domain/deployments/metering/units.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace berth::metering {

std::int64_t units_of(std::int64_t milliseconds, std::int64_t points_per_hour) {
  const Wide units = Wide(milliseconds) * points_per_hour;
  if (units > std::numeric_limits<std::int64_t>::max())
    throw std::overflow_error(std::to_string(milliseconds) + " ms at " +
                              std::to_string(points_per_hour) +
                              " points an hour are more than can be counted");
  return std::int64_t(units);
}

Charge charge(std::int64_t remainder, std::int64_t units, std::int64_t limit) {
  const Wide used = Wide(remainder) + units;
  const Wide most = Wide(limit) * units_of_point;
  // A remainder that was carried here is never lost, even if the limit is 0.
  const Wide charged = std::min(used, std::max(most, Wide(remainder)));
  return {.points = std::int64_t(charged / units_of_point),
          .remainder = std::int64_t(charged % units_of_point),
          .unpaid_units = std::int64_t(used - charged)};
}

Duration time_of(Wide units, std::int64_t points_per_hour) {
  if (units <= 0) return Duration(0);
  if (points_per_hour <= 0) return longest;
  const Wide time = (units - 1) / points_per_hour + 1;
  return time < longest.count() ? Duration(std::int64_t(time)) : longest;
}

}  // namespace berth::metering
