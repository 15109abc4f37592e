#pragma once

#include "controller/domain/kernel/loop.h"

// What becomes due with time for ads. No payment depends on when that is done.
namespace berth::ads {

// Limits for one transaction, because it holds up all other writes. A campaign that ends may have
// to release as many reservations as a campaign may hold.
struct UpkeepBatch {
  int campaigns = 4;
  int rows = 200;
};
// Ends campaigns whose ends_at has passed and refunds what is left of them, returns reservations
// that were never reported to their budgets, counts demand anew, and deletes rows that nobody
// needs. Returns the number of campaigns, reservations and rows. If nothing is due, nothing is
// written. Throws Error `unavailable` if the database can't be used.
int do_what_is_due(Round& round, const UpkeepBatch& batch = {});
// Calls do_what_is_due() every second.
Loop upkeep_loop();

}  // namespace berth::ads
