#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/domain/deployments/metering/meter.h"
#include "controller/domain/deployments/metering/prices.h"

// How what was used is divided into UTC days, and their rows. Private to metering.
namespace berth::metering {

// A part of a time that lies within one day on which it has a price.
struct Piece {
  std::int64_t day = 0;
  std::int64_t milliseconds = 0;
  std::int64_t price = 0;  // points for an hour
};
// Returns the parts of the time from `from` to `until`; none if it is empty, or has no price.
std::vector<Piece> pieces(const Prices& prices, const std::string& tier_id, Instant from,
                          Instant until);

// What was used and isn't settled yet, of one row of meter_days.
struct Line {
  std::string deployment_id;
  std::string app_id;
  std::int64_t day = 0;
  std::string process;
  std::int64_t milliseconds = 0;
  std::int64_t units = 0;
};
// Adds what a deployment used to the row of its day.
void add_to_day(db::Tx& tx, const Line& used);
// Returns what the app's deployments used and isn't settled, in the order of the days.
std::vector<Line> pending_lines(db::Tx& tx, const std::string& app_id);
// Records that the line was charged with so many points, and how much of its time wasn't charged.
void settle_line(db::Tx& tx, const Line& line, std::int64_t points,
                 std::int64_t unpaid_milliseconds);

}  // namespace berth::metering
