#include "controller/domain/deployments/billing/charged.h"

#include "controller/domain/deployments/billing/period.h"

namespace berth::billing {
namespace {

constexpr Duration day_length = std::chrono::hours(24);

}  // namespace

std::optional<Charged> charged_by(db::Tx& tx, const std::string& transaction_id) {
  auto rows = tx.query(R"(
      SELECT deployment_id, NULL AS build_id, period_start AS starts, period_start + $2 AS ends
      FROM deployment_charges
      WHERE transaction_id = $1
      UNION ALL
      SELECT deployment_id, NULL, at, period_start + $2
      FROM deployment_tier_changes
      WHERE transaction_id = $1
      UNION ALL
      SELECT deployment_id, NULL, NULL, NULL
      FROM deployment_refunds
      WHERE transaction_id = $1
      UNION ALL
      SELECT NULL, NULL, day * $3, (day + 1) * $3
      FROM meter_settlements
      WHERE transaction_id = $1
      UNION ALL
      SELECT NULL, c.build_id, b.started_at, b.ended_at
      FROM build_charges c
      LEFT JOIN builds b ON b.id = c.build_id
      WHERE c.transaction_id = $1)",
                       transaction_id, period_length.count(), day_length.count());
  if (!rows.next()) return std::nullopt;
  return Charged{.deployment_id = rows.text_or_null("deployment_id"),
                 .build_id = rows.text_or_null("build_id"),
                 .from = rows.instant_or_null("starts"),
                 .until = rows.instant_or_null("ends")};
}

}  // namespace berth::billing
