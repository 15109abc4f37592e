#include "controller/domain/ads/placing.h"

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/ads/market.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::ads {
namespace {

const std::string select_placed = R"(
    SELECT id, campaign_id, ad_placement_id, allocated_budget, impressions_target,
           impressions_delivered, status, inserted_at, updated_at
    FROM campaign_placements )";

CampaignPlacement placed_of(db::Tx& tx, const db::Query& row) {
  return {.id = row.text("id"),
          .campaign_id = row.text("campaign_id"),
          .ad_placement_id = row.text("ad_placement_id"),
          .allocated_budget = row.integer("allocated_budget"),
          .impressions_target = row.integer("impressions_target"),
          .impressions_delivered = row.integer("impressions_delivered"),
          .status = db::enum_of<PlacementStatus>(row, "status"),
          .segments = segments_of(tx, row.text("id")),
          .inserted_at = row.instant("inserted_at"),
          .updated_at = row.instant("updated_at")};
}

CampaignPlacement find(db::Tx& tx, const std::string& campaign_id, const std::string& id) {
  static const std::string sql =
      select_placed +
      R"(WHERE campaign_id = $1 AND (id = $2 OR ad_placement_id = $2) AND removed_at IS NULL)";
  auto rows = tx.query(sql, campaign_id, id);
  if (!rows.next()) throw Error(Code::placement_not_found, "the campaign has no such placement");
  return placed_of(tx, rows);
}

campaigns::Campaign get_living(db::Tx& tx, const campaigns::Actor& actor, const std::string& id) {
  auto campaign = campaigns::get_owned(tx, actor, id);
  if (campaign.is_over(tx.now())) throw Error(Code::invalid_state, "the campaign has ended");
  return campaign;
}

// Checks the allocation of `placed`, which is or will be stored.
void check_allocation(db::Tx& tx, const campaigns::Campaign& campaign,
                      const CampaignPlacement& placed) {
  if (placed.allocated_budget < campaign.payout_rate)
    throw invalid_field("allocated_budget", "must pay for at least one impression");
  const std::int64_t others = tx.number(R"(
      SELECT coalesce(sum(allocated_budget), 0)
      FROM campaign_placements
      WHERE campaign_id = $1 AND id <> $2 AND removed_at IS NULL)",
                                        campaign.id, placed.id);
  if (placed.allocated_budget > campaign.budget - others)
    throw invalid_field("allocated_budget",
                        "must not exceed what the campaign's budget has left for it, " +
                            std::to_string(campaign.budget - others));
  if (placed.impressions_target < 1 ||
      placed.impressions_target > placed.allocated_budget / campaign.payout_rate)
    throw invalid_field("impressions_target",
                        "must be from 1 to the number that the allocation pays for, " +
                            std::to_string(placed.allocated_budget / campaign.payout_rate));
}

// Audiences beyond the limit would never be served, so they are refused.
void check_audiences(const campaigns::Campaign& campaign, const CampaignPlacement& placed,
                     const Segment& added) {
  std::vector<Segment> segments = {added};
  for (const PlacementSegment& one : placed.segments) segments.push_back(one.segment);
  const Targeting targeting =
      campaign.targeting_metadata ? parse_targeting(*campaign.targeting_metadata) : Targeting();
  if (count_audiences(targeting, targeting_of(segments)) > max_audiences)
    throw invalid_field("segment_type",
                        "would make more than " + std::to_string(max_audiences) +
                            " combinations with the other segments and the campaign's targeting");
}

const std::string select_segments = R"(
    SELECT id, app_id, name, game_type, play_tier, geography, metadata, inserted_at
    FROM audience_segments )";

AudienceSegment audience_of(const db::Query& row) {
  return {.id = row.text("id"),
          .app_id = row.text_or_null("app_id"),
          .name = row.text("name"),
          .game_type = row.text_or_null("game_type"),
          .play_tier = row.text_or_null("play_tier"),
          .geography = row.text_or_null("geography"),
          .metadata = row.text_or_null("metadata"),
          .inserted_at = row.instant("inserted_at")};
}

void check(const AudienceSegment& segment) {
  if (!segment.game_type && !segment.play_tier && !segment.geography)
    throw invalid_field("game_type", "is required, or play_tier or geography");
  if (segment.metadata && segment.metadata->size() > max_metadata_bytes)
    throw invalid_field("metadata",
                        "must have at most " + std::to_string(max_metadata_bytes) + " bytes");
}

}  // namespace

std::vector<PlacementSegment> segments_of(db::Tx& tx, const std::string& campaign_placement_id) {
  std::vector<PlacementSegment> segments;
  auto rows = tx.query(R"(
      SELECT id, segment_type, segment_value, match_mode, inserted_at
      FROM placement_segments
      WHERE campaign_placement_id = $1
      ORDER BY inserted_at, id)",
                       campaign_placement_id);
  while (rows.next())
    segments.push_back({.id = rows.text("id"),
                        .campaign_placement_id = campaign_placement_id,
                        .segment = {.type = db::enum_of<Attribute>(rows, "segment_type"),
                                    .value = rows.text("segment_value"),
                                    .match_mode = db::enum_of<MatchMode>(rows, "match_mode")},
                        .inserted_at = rows.instant("inserted_at")});
  return segments;
}

Page<CampaignPlacement> list_campaign_placements(db::Tx& tx, const campaigns::Actor& actor,
                                                 const std::string& campaign_id,
                                                 const PageRequest& page) {
  static const ListSql sql = {
      .count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM campaign_placements
            WHERE campaign_id = $1 AND removed_at IS NULL
            LIMIT $2) counted)",
      .rows = select_placed + R"(
      WHERE campaign_id = $1 AND removed_at IS NULL AND (inserted_at, id) > ($2, $3)
      ORDER BY inserted_at, id
      LIMIT $4 OFFSET $5)",
      .sorted_by = {{SortColumn::Type::integer, "inserted_at"}, {SortColumn::Type::text, "id"}},
      .order = ListSql::Order::ascending};
  campaigns::get_owned(tx, actor, campaign_id);
  const auto read = [&](const db::Query& row) { return placed_of(tx, row); };
  return read_page(tx, sql, page, read, campaign_id);
}

CampaignPlacement place(db::Tx& tx, const campaigns::Actor& actor, const std::string& campaign_id,
                        const NewCampaignPlacement& wanted) {
  tx.require_serializable();
  const auto campaign = get_living(tx, actor, campaign_id);
  const auto placement = find_placement(tx, wanted.ad_placement_id);
  if (!placement || !placement->is_active)
    throw Error(Code::placement_not_found, "there is no such placement");
  if (placement->surface_type != campaign.surface_type)
    throw invalid_field("ad_placement_id", "must have the campaign's surface type");
  const std::int64_t count = tx.number(R"(
      SELECT count(*)
      FROM campaign_placements
      WHERE campaign_id = $1 AND removed_at IS NULL)",
                                       campaign_id);
  if (count >= max_campaign_placements)
    throw invalid_field("ad_placement_id",
                        "would exceed the number of placements that a campaign may have");
  if (tx.number(R"(
      SELECT count(*)
      FROM campaign_placements
      WHERE campaign_id = $1 AND ad_placement_id = $2 AND removed_at IS NULL)",
                campaign_id, placement->id) > 0)
    throw Error(Code::invalid_state, "the campaign already has this placement");
  const CampaignPlacement placed = {.id = new_uuid(tx.now()),
                                    .campaign_id = campaign_id,
                                    .ad_placement_id = placement->id,
                                    .allocated_budget = wanted.allocated_budget,
                                    .impressions_target = wanted.impressions_target.value_or(
                                        wanted.allocated_budget / campaign.payout_rate)};
  check_allocation(tx, campaign, placed);
  tx.execute(R"(
      INSERT INTO campaign_placements (id, campaign_id, ad_placement_id, allocated_budget,
                                       impressions_target, status, inserted_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, 'active', $6, $6))",
             placed.id, campaign_id, placement->id, placed.allocated_budget,
             placed.impressions_target, tx.now());
  tx.notify(db::Topic::campaign, campaign_id);
  return find(tx, campaign_id, placed.id);
}

CampaignPlacement change_placement(db::Tx& tx, const campaigns::Actor& actor,
                                   const std::string& campaign_id, const std::string& id,
                                   const PlacementChange& change) {
  tx.require_serializable();
  const auto campaign = get_living(tx, actor, campaign_id);
  CampaignPlacement placed = find(tx, campaign_id, id);
  if (change.allocated_budget) {
    placed.allocated_budget = *change.allocated_budget;
    placed.impressions_target = placed.allocated_budget / campaign.payout_rate;
  }
  if (change.impressions_target) placed.impressions_target = *change.impressions_target;
  check_allocation(tx, campaign, placed);
  if (change.status) placed.status = *change.status;
  if (placed.impressions_delivered >= placed.impressions_target)
    placed.status = PlacementStatus::depleted;
  else if (placed.status == PlacementStatus::depleted)
    placed.status = PlacementStatus::active;
  tx.execute(R"(
      UPDATE campaign_placements
      SET allocated_budget = $2, impressions_target = $3, status = $4, updated_at = $5
      WHERE id = $1)",
             placed.id, placed.allocated_budget, placed.impressions_target,
             to_string(placed.status), tx.now());
  tx.notify(db::Topic::campaign, campaign_id);
  return find(tx, campaign_id, placed.id);
}

CampaignPlacement remove_placement(db::Tx& tx, const campaigns::Actor& actor,
                                   const std::string& campaign_id, const std::string& id) {
  get_living(tx, actor, campaign_id);
  CampaignPlacement placed = find(tx, campaign_id, id);
  tx.execute(R"(
      UPDATE campaign_placements
      SET removed_at = $2, updated_at = $2
      WHERE id = $1)",
             placed.id, tx.now());
  tx.execute(R"(DELETE FROM placement_segments WHERE campaign_placement_id = $1)", placed.id);
  tx.notify(db::Topic::campaign, campaign_id);
  return placed;
}

PlacementSegment add_segment(db::Tx& tx, const campaigns::Actor& actor,
                             const std::string& campaign_id, const std::string& id,
                             const Segment& segment) {
  tx.require_serializable();
  const auto campaign = get_living(tx, actor, campaign_id);
  const CampaignPlacement placed = find(tx, campaign_id, id);
  if (segment.value.empty() && segment.match_mode != MatchMode::any)
    throw invalid_field("segment_value", "is required");
  if (std::int64_t(placed.segments.size()) >= max_placement_segments)
    throw invalid_field("segment_type",
                        "would exceed the number of segments that a placement may have");
  check_audiences(campaign, placed, segment);
  const PlacementSegment added = {.id = new_uuid(tx.now()),
                                  .campaign_placement_id = placed.id,
                                  .segment = segment,
                                  .inserted_at = tx.now()};
  tx.execute(R"(
      INSERT INTO placement_segments (id, campaign_placement_id, segment_type, segment_value,
                                      match_mode, inserted_at)
      VALUES ($1, $2, $3, $4, $5, $6))",
             added.id, placed.id, to_string(segment.type), segment.value,
             to_string(segment.match_mode), tx.now());
  tx.notify(db::Topic::campaign, campaign_id);
  return added;
}

AudienceSegment create_segment(db::Tx& tx, const AudienceSegment& segment) {
  check(segment);
  const std::string id = new_uuid(tx.now());
  tx.execute(R"(
      INSERT INTO audience_segments (id, app_id, name, game_type, play_tier, geography, metadata,
                                     inserted_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8))",
             id, segment.app_id, segment.name, segment.game_type, segment.play_tier,
             segment.geography, segment.metadata, tx.now());
  return get_segment(tx, id);
}

AudienceSegment update_segment(db::Tx& tx, const AudienceSegment& segment) {
  check(segment);
  tx.execute(R"(
      UPDATE audience_segments
      SET name = $2, game_type = $3, play_tier = $4, geography = $5, metadata = $6
      WHERE id = $1)",
             segment.id, segment.name, segment.game_type, segment.play_tier, segment.geography,
             segment.metadata);
  return get_segment(tx, segment.id);
}

AudienceSegment get_segment(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_segments + R"(WHERE id = $1)";
  auto rows = tx.query(sql, id);
  if (!rows.next()) throw Error(Code::segment_not_found, "there is no such segment");
  return audience_of(rows);
}

Page<AudienceSegment> list_segments(db::Tx& tx, const std::optional<std::string>& app_id,
                                    const PageRequest& page) {
  static const std::vector<SortColumn> by_id = {{SortColumn::Type::text, "id"}};
  static const ListSql all = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM audience_segments LIMIT $1) counted)",
                              .rows = select_segments + R"(
      WHERE id > $1
      ORDER BY id
      LIMIT $2 OFFSET $3)",
                              .sorted_by = by_id,
                              .order = ListSql::Order::ascending};
  // The segments of the app, and those that every app may use. Each SELECT reads an index in the
  // order of the ids.
  static const ListSql usable = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM audience_segments
            WHERE app_id = $1 OR app_id IS NULL
            LIMIT $2) counted)",
                                 .rows = select_segments + R"(
      WHERE app_id = $1 AND id > $2
      UNION ALL)" + select_segments + R"(
      WHERE app_id IS NULL AND id > $2
      ORDER BY id
      LIMIT $3 OFFSET $4)",
                                 .sorted_by = by_id,
                                 .order = ListSql::Order::ascending};
  return app_id ? read_page(tx, usable, page, audience_of, *app_id)
                : read_page(tx, all, page, audience_of);
}

std::vector<Segment> segments_of_audience(db::Tx& tx, const std::string& app_id,
                                          const std::string& id) {
  const AudienceSegment audience = get_segment(tx, id);
  if (audience.app_id && *audience.app_id != app_id)
    throw apps::foreign(tx, "the segment", *audience.app_id, app_id);
  std::vector<Segment> segments;
  const std::array values = {audience.game_type, audience.play_tier, audience.geography};
  for (size_t i = 0; i < attributes.size(); ++i)
    if (values[i])
      segments.push_back(
          {.type = Attribute(i), .value = *values[i], .match_mode = MatchMode::exact});
  return segments;
}

}  // namespace berth::ads
