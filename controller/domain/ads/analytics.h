#pragma once

#include <string>
#include <vector>

#include "controller/db/database.h"

// A campaign's results by UTC day. The sums are written in the transaction that records each event,
// so they always equal the events.
namespace berth::ads {

struct DayRow {
  std::int64_t day = 0;          // the number of days since 1970-01-01
  std::int64_t impressions = 0;  // paid ones
  std::int64_t clicks = 0;       // counted once, after a paid impression
  std::int64_t spend = 0;
};
// Returns the days from `first` to `last`, both included, oldest first. Days without an event are
// left out.
std::vector<DayRow> days(db::Tx& tx, const std::string& campaign_id, std::int64_t first,
                         std::int64_t last);
// Returns the same, but counts the events themselves. Tests compare it with days().
std::vector<DayRow> recounted(db::Tx& tx, const std::string& campaign_id, std::int64_t first,
                              std::int64_t last);
DayRow sum(const std::vector<DayRow>& rows);

// How many of an app's events of ads, views and clicks, a viewer has caused.
struct Viewer {
  std::string app_id;
  std::string user_id;
  std::int64_t events = 0;
};
// The viewers of the newest events since a time, at most `most` events: each app and user once.
std::vector<Viewer> viewers_since(db::Tx& tx, Instant since, int most);

}  // namespace berth::ads
