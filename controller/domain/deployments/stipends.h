#pragma once

#include <string>

#include "controller/db/database.h"

// Stipends: points that the treasury pays to an account for having deployments on a tier with
// monthly_stipend_points. An account gets at most one in 30 days, however many deployments it has.
namespace berth::stipends {

inline constexpr Duration interval = std::chrono::hours(30 * 24);
// How long to wait before another attempt if the treasury has too few points for a stipend.
inline constexpr Duration retry = std::chrono::hours(1);

// Pays the owner the largest stipend among the tiers of their deployments that aren't stopped, if
// the last one was paid at least `interval` ago. Returns when to call it again.
Instant pay_if_due(db::Tx& tx, const std::string& owner_id);

}  // namespace berth::stipends
