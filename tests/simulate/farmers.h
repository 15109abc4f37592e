#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/simulate/engine.h"

// Farmers: people who make many accounts for the bonuses of each, and try to gather these on one.
namespace berth::simulate {

struct Harvest {
  std::string way;            // how the farmer tried it
  std::int64_t given = 0;     // what the treasury gave to all accounts of the farm
  std::int64_t gathered = 0;  // what one person, or their app, has of it at the end
};

inline constexpr int farm_accounts = 60;
inline constexpr int farm_days = 90;
// The most that may be gathered: what bonuses of others may bring one person within that time.
inline constexpr std::int64_t most_gathered = 1'500;

// Lets a farmer of each way work for farm_days on a new store, which `new_engine` makes; the store
// before it isn't used any more. Each of a farmer's accounts has a verified address, the sign-up
// bonus, and 1,000 points of rewards every ten days. None has points of its own.
std::vector<Harvest> farm(const std::function<Engine&()>& new_engine);

}  // namespace berth::simulate
