#include "controller/domain/ads/analytics.h"

#include <map>
#include <utility>

namespace berth::ads {
namespace {

std::vector<DayRow> read(db::Query rows) {
  std::vector<DayRow> all;
  while (rows.next())
    all.push_back({.day = rows.integer("day"),
                   .impressions = rows.integer("impressions"),
                   .clicks = rows.integer("clicks"),
                   .spend = rows.integer("spend")});
  return all;
}

}  // namespace

std::vector<DayRow> days(db::Tx& tx, const std::string& campaign_id, std::int64_t first,
                         std::int64_t last) {
  return read(tx.query(R"(
      SELECT day, impressions, clicks, spend
      FROM ad_days
      WHERE campaign_id = $1 AND day BETWEEN $2 AND $3
      ORDER BY day)",
                       campaign_id, first, last));
}

std::vector<DayRow> recounted(db::Tx& tx, const std::string& campaign_id, std::int64_t first,
                              std::int64_t last) {
  // A day has 86,400,000 milliseconds. All times are after 1970.
  return read(tx.query(R"(
      SELECT inserted_at / 86400000 AS day,
             count(CASE WHEN event_type = 'impression' THEN 1 END) AS impressions,
             count(CASE WHEN event_type = 'click' THEN 1 END) AS clicks,
             sum(CASE WHEN event_type = 'impression' THEN payout_rate_snapshot ELSE 0 END) AS spend
      FROM ad_events
      WHERE campaign_id = $1 AND counted = 1 AND inserted_at / 86400000 BETWEEN $2 AND $3
      GROUP BY inserted_at / 86400000
      ORDER BY day)",
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

std::vector<Viewer> viewers_since(db::Tx& tx, Instant since, int most) {
  std::map<std::pair<std::string, std::string>, std::int64_t> events;
  auto rows = tx.query(R"(
      SELECT app_id, user_id
      FROM ad_events
      WHERE inserted_at >= $1
      ORDER BY inserted_at DESC
      LIMIT $2)",
                       since, most);
  while (rows.next()) ++events[{rows.text("app_id"), rows.text("user_id")}];
  std::vector<Viewer> all;
  all.reserve(events.size());
  for (const auto& [who, count] : events)
    all.push_back({.app_id = who.first, .user_id = who.second, .events = count});
  return all;
}

}  // namespace berth::ads
