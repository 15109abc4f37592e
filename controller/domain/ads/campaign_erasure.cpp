#include "controller/domain/ads/campaign_erasure.h"

#include <array>

#include "controller/domain/ads/creatives.h"
#include "controller/domain/kernel/eraser.h"
#include "controller/domain/webhooks/app_events.h"

namespace berth::campaigns {
namespace {

int erase_audience_segments(db::Tx& tx, const std::string& app_id, int limit) {
  return tx.execute(
      R"(
      DELETE FROM audience_segments
      WHERE id IN (SELECT id FROM audience_segments WHERE app_id = $1 LIMIT $2))",
      app_id, limit);
}

std::optional<std::string> next(db::Tx& tx, const std::string& app_id) {
  auto rows = tx.query(
      R"(
      SELECT id
      FROM campaigns
      WHERE app_id = $1 AND status IN ('exhausted', 'cancelled') AND name <> ''
      LIMIT 1)",
      app_id);
  return rows.next() ? std::optional(rows.text("id")) : std::nullopt;
}

int erase_placement_segments(db::Tx& tx, const std::string& id, int limit) {
  return tx.execute(
      R"(
      DELETE FROM placement_segments
      WHERE id IN (SELECT s.id
                   FROM campaign_placements p
                   JOIN placement_segments s ON s.campaign_placement_id = p.id
                   WHERE p.campaign_id = $1
                   LIMIT $2))",
      id, limit);
}

int empty(db::Tx& tx, const std::string& id) {
  const int emptied = tx.execute(
      R"(
      UPDATE campaigns
      SET name = '', targeting_metadata = NULL
      WHERE id = $1)",
      id);
  return emptied + app_events::forget(tx, id);
}

constexpr std::array<eraser::Erase, 3> parts = {erase_placement_segments, creatives::erase_pictures,
                                                creatives::erase};

}  // namespace

int erase_words(db::Tx& tx, const std::string& app_id, int limit) {
  const int erased = erase_audience_segments(tx, app_id, limit);
  if (erased >= limit) return erased;
  return erased +
         eraser::run(tx, {.next = next, .parts = parts, .empty = empty}, app_id, limit - erased);
}

}  // namespace berth::campaigns
