#include "controller/domain/ads/upkeep.h"

#include "controller/domain/ads/campaigns.h"
#include "controller/domain/ads/creatives.h"
#include "controller/domain/ads/events.h"
#include "controller/domain/ads/market.h"
#include "controller/domain/ads/serving.h"
#include "controller/domain/ledger/holds.h"

namespace berth::ads {

// With row locks, because requests change the rows of a campaign that is shown often all the time.
int do_what_is_due(Round& round, const UpkeepBatch& batch) {
  int done = round.repeat_with_row_locks(
      campaigns::is_any_over, [&](db::Tx& tx) { return campaigns::end_some(tx, batch.campaigns); });
  done += round.repeat_with_row_locks(holds::is_any_due,
                                      [&](db::Tx& tx) { return holds::expire(tx, batch.rows); });
  done += round.repeat_with_row_locks(is_anything_old,
                                      [&](db::Tx& tx) { return remove_old(tx, batch.rows); });
  done += round.repeat_with_row_locks(
      is_any_event_old, [&](db::Tx& tx) { return remove_old_events(tx, batch.rows); });
  done += round.repeat_with_row_locks(creatives::is_anything_old, [&](db::Tx& tx) {
    return creatives::remove_old(tx, batch.rows);
  });
  if (round.read(is_demand_old)) round.write(recompute_demand);
  return done;
}

Loop upkeep_loop() {
  return {.name = "ads",
          .interval = std::chrono::seconds(1),
          .lease = "ads",
          .round = [](Round& round) { do_what_is_due(round); },
          .failure = "some of what is due for ads couldn't be done"};
}

}  // namespace berth::ads
