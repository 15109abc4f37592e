#pragma once

#include <string>
#include <vector>

#include "controller/db/database.h"

// What became of a campaign, by UTC days: what is counted of its events, no more and no less. The
// sums are written with the events.
namespace berth::ads {

struct DayRow {
  std::int64_t day = 0;          // since 1970
  std::int64_t impressions = 0;  // paid ones
  std::int64_t clicks = 0;       // after a paid impression, once
  std::int64_t spend = 0;
};
// Of the days from `first` to `last`, both included, oldest first; those on which nothing happened
// are left out.
std::vector<DayRow> days(db::Tx& tx, const std::string& campaign_id, std::int64_t first,
                         std::int64_t last);
// The same by counting the events; for tests and doubts.
std::vector<DayRow> recounted(db::Tx& tx, const std::string& campaign_id, std::int64_t first,
                              std::int64_t last);
DayRow sum(const std::vector<DayRow>& rows);

}  // namespace berth::ads
