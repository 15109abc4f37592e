#include "controller/domain/ads/analytics.h"

namespace berth::ads {
namespace {

std::vector<DayRow> read(db::Query rows) {
  std::vector<DayRow> all;
  while (rows.next())
    all.push_back({.day = rows.integer(0),
                   .impressions = rows.integer(1),
                   .clicks = rows.integer(2),
                   .spend = rows.integer(3)});
  return all;
}

}  // namespace

std::vector<DayRow> days(db::Tx& tx, const std::string& campaign_id, std::int64_t first,
                         std::int64_t last) {
  return read(tx.query(
      "SELECT day, impressions, clicks, spend FROM ad_days WHERE campaign_id = $1 AND day BETWEEN "
      "$2 AND $3 ORDER BY day",
      campaign_id, first, last));
}

std::vector<DayRow> recounted(db::Tx& tx, const std::string& campaign_id, std::int64_t first,
                              std::int64_t last) {
  // A day has 86,400,000 milliseconds. All times are after 1970.
  return read(
      tx.query("SELECT inserted_at / 86400000 AS day, sum(event_type = 'impression'), "
               "sum(event_type = 'click'), sum(CASE event_type WHEN 'impression' THEN "
               "payout_rate_snapshot ELSE 0 END) FROM ad_events WHERE campaign_id = $1 AND counted "
               "= 1 GROUP BY day HAVING day BETWEEN $2 AND $3 ORDER BY day",
               campaign_id, first, last));
}

DayRow sum(const std::vector<DayRow>& rows) {
  DayRow total;
  for (const DayRow& row : rows) {
    total.impressions += row.impressions;
    total.clicks += row.clicks;
    total.spend += row.spend;
  }
  return total;
}

}  // namespace berth::ads
