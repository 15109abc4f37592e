#include "controller/domain/deployments/metering/day_rows.h"

#include <algorithm>

namespace berth::metering {

std::vector<Piece> pieces(const Prices& prices, const std::string& tier_id, Instant from,
                          Instant until) {
  std::vector<Piece> found;
  while (from < until) {
    const std::int64_t day = utc_day(from);
    const Instant end = std::min(start_of_day(day + 1), until);
    if (const auto price = prices.on(tier_id, day))
      found.push_back({.day = day, .milliseconds = (end - from).count(), .price = *price});
    from = end;
  }
  return found;
}

void add_to_day(db::Tx& tx, const Line& used) {
  tx.execute(R"(
      INSERT INTO meter_days
        (deployment_id, day, process, item, app_id, milliseconds, pending_milliseconds,
         pending_units)
      VALUES ($1, $2, $3, $4, $5, $6, $6, $7)
      ON CONFLICT (deployment_id, day, process, item) DO UPDATE
      SET milliseconds = meter_days.milliseconds + excluded.milliseconds,
          pending_milliseconds =
            meter_days.pending_milliseconds + excluded.pending_milliseconds,
          pending_units = meter_days.pending_units + excluded.pending_units)",
             used.deployment_id, used.day, used.process, to_string(Item::base), used.app_id,
             used.milliseconds, used.units);
}

std::vector<Line> pending_lines(db::Tx& tx, const std::string& app_id) {
  std::vector<Line> lines;
  auto rows = tx.query(R"(
      SELECT deployment_id, day, process, pending_milliseconds, pending_units
      FROM meter_days
      WHERE app_id = $1 AND pending_milliseconds > 0
      ORDER BY day, deployment_id, process)",
                       app_id);
  while (rows.next())
    lines.push_back({.deployment_id = rows.text("deployment_id"),
                     .app_id = app_id,
                     .day = rows.integer("day"),
                     .process = rows.text("process"),
                     .milliseconds = rows.integer("pending_milliseconds"),
                     .units = rows.integer("pending_units")});
  return lines;
}

void settle_line(db::Tx& tx, const Line& line, std::int64_t points,
                 std::int64_t unpaid_milliseconds) {
  tx.execute(R"(
      UPDATE meter_days
      SET points = points + $5, unpaid_milliseconds = unpaid_milliseconds + $6,
          pending_milliseconds = pending_milliseconds - $7, pending_units = pending_units - $8
      WHERE deployment_id = $1 AND day = $2 AND process = $3 AND item = $4)",
             line.deployment_id, line.day, line.process, to_string(Item::base), points,
             unpaid_milliseconds, line.milliseconds, line.units);
}

}  // namespace berth::metering
