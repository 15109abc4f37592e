#include "reconcilers/loops/ads.h"

#include "controller/base/log.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/ads/events.h"
#include "controller/domain/ads/market.h"
#include "controller/domain/ledger/holds.h"

namespace berth::reconcilers {

AdsLoop::AdsLoop(db::Database& database, ads::CampaignIndex& index, Options options)
    : database_(database),
      index_(index),
      options_(options),
      turn_(database, options.replicas, "ads"),
      rounds_("ads", [this] { run_and_log(); }, {.interval = options.interval}) {}

// Reads before it writes, because even an empty transaction would hold up the other writers. With
// row locks, because requests change the rows of a campaign that is shown often all the time.
template <typename IsDue, typename Some>
int AdsLoop::repeat(IsDue is_due, Some some) {
  int dealt_with = 0;
  while (!rounds_.stopping() && database_.read(is_due)) {
    const int count = turn_.write_with_row_locks(some);
    if (count == 0) break;
    dealt_with += count;
  }
  return dealt_with;
}

int AdsLoop::run_once() {
  const int dealt_with = turn_.is_mine() ? do_what_is_due() : 0;
  index_.refresh(database_);
  return dealt_with;
}

int AdsLoop::do_what_is_due() {
  int dealt_with = repeat([](db::Tx& tx) { return campaigns::is_any_over(tx); },
                          [&](db::Tx& tx) { return campaigns::end_some(tx, options_.campaigns); });
  dealt_with += repeat([](db::Tx& tx) { return holds::is_any_due(tx); },
                       [&](db::Tx& tx) { return holds::expire(tx, options_.rows); });
  dealt_with += repeat([](db::Tx& tx) { return ads::is_anything_old(tx); },
                       [&](db::Tx& tx) { return ads::remove_old(tx, options_.rows); });
  dealt_with += repeat([](db::Tx& tx) { return ads::is_any_event_old(tx); },
                       [&](db::Tx& tx) { return ads::remove_old_events(tx, options_.rows); });
  if (database_.read([](db::Tx& tx) { return ads::is_demand_old(tx); }))
    turn_.write([](db::Tx& tx) { ads::recompute_demand(tx); });
  return dealt_with;
}

void AdsLoop::run_and_log() {
  try {
    run_once();
  } catch (const std::exception& failure) {
    log::warning("some of what is due for ads couldn't be done", {{"error", failure.what()}});
  }
}

}  // namespace berth::reconcilers
