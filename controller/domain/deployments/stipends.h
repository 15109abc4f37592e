#pragma once

#include <string>

#include "controller/db/database.h"

// Stipends: points that the treasury pays to an account for having a deployment on a tier with
// monthly_stipend_points; once for an account in 30 days, whatever it has.
namespace berth::stipends {

inline constexpr Duration interval = std::chrono::hours(30 * 24);
// How long a stipend waits that the treasury has no points for.
inline constexpr Duration retry = std::chrono::hours(1);

// Pays the owner the largest stipend among the tiers of his deployments that aren't stopped, if the
// last one is `interval` ago or more. Returns when to look again.
Instant pay_if_due(db::Tx& tx, const std::string& owner_id);

}  // namespace berth::stipends
