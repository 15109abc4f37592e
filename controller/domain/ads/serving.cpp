#include "controller/domain/ads/serving.h"

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/db/enum_column.h"
#include "controller/domain/ads/placing.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/ledger/holds.h"

namespace berth::ads {
namespace {

// If one choice is refused this many campaigns, they are remembered as full. Remembering fewer
// isn't worth it: a campaign that is remembered isn't offered for a moment, even if it has room
// again.
constexpr size_t many_refusals = 16;
constexpr std::int64_t owners_part = 4;  // at most a quarter of what a campaign can still pay
constexpr int max_rounds = 4;            // each makes as many offers as one choice can
constexpr Duration full_for = std::chrono::seconds(1);
// How many apps, and how many campaigns of an app, are remembered.
constexpr size_t most_full = 10'000;

// Reads the multiplier of the tier that the app was promoted to or, if there is none, of the first
// tier that needs no approval.
constexpr std::string_view advertiser_sql = R"(
    SELECT coalesce(t.ad_reach_multiplier, '1') AS reach,
           CASE WHEN a.suspended_at IS NULL AND u.suspended_at IS NULL THEN 0 ELSE 1 END
             AS is_suspended
    FROM apps a
    JOIN users u ON u.id = a.owner_id
    LEFT JOIN deploy_tiers t
      ON t.slug = a.promoted_tier OR (a.promoted_tier IS NULL AND t.auto_approve = 1)
    WHERE a.id = $1
    ORDER BY t.position
    LIMIT 1)";

struct Advertiser {  // an app with campaigns
  double reach = 1;
  bool is_suspended = false;  // whether the app or its owner is suspended
};

double reach_of(const std::string& multiplier) {
  try {
    return std::max(0.0, std::stod(multiplier));
  } catch (const std::logic_error&) {
    return 1;
  }
}

Advertiser advertiser_of(db::Tx& tx, const std::string& app_id) {
  auto rows = tx.query(advertiser_sql, app_id);
  if (!rows.next()) return {};
  return {.reach = reach_of(rows.text("reach")), .is_suspended = rows.flag("is_suspended")};
}

std::vector<Segment> audience_of(db::Tx& tx, const std::string& campaign_placement_id) {
  std::vector<Segment> segments;
  for (PlacementSegment& one : segments_of(tx, campaign_placement_id))
    segments.push_back(std::move(one.segment));
  return segments;
}

// Returns where the campaign may be shown: everywhere, unless it has placements.
std::vector<Choice::Slot> slots_of(db::Tx& tx, const std::string& campaign_id,
                                   const Targeting& targeting) {
  std::vector<Choice::Slot> slots;
  bool has_placements = false;
  auto rows = tx.query(R"(
      SELECT CASE WHEN c.status = 'active' AND p.is_active = 1 THEN 1 ELSE 0 END AS is_active,
             c.id, c.ad_placement_id, p.app_id
      FROM campaign_placements c
      JOIN ad_placements p ON p.id = c.ad_placement_id
      WHERE c.campaign_id = $1 AND c.removed_at IS NULL
      ORDER BY c.id)",
                       campaign_id);
  while (rows.next()) {
    has_placements = true;
    if (!rows.flag("is_active")) continue;
    slots.push_back(
        {.campaign_placement_id = rows.text("id"),
         .ad_placement_id = rows.text("ad_placement_id"),
         .app_id = rows.text_or_null("app_id").value_or(""),
         .audiences = audiences(targeting, targeting_of(audience_of(tx, rows.text("id"))))});
  }
  if (!has_placements) slots.push_back({.audiences = audiences(targeting, {})});
  return slots;
}

Choice::Campaign candidate_of(db::Tx& tx, const campaigns::Campaign& campaign, double reach) {
  const Targeting targeting =
      campaign.targeting_metadata ? parse_targeting(*campaign.targeting_metadata) : Targeting();
  const std::int64_t gone = campaign.budget - campaign.remaining;
  return {.id = campaign.id,
          .owner_id = campaign.owner_id,
          .surface_type = campaign.surface_type,
          .payout_rate = campaign.payout_rate,
          .reach = reach,
          .impressions = campaign.budget / campaign.payout_rate,
          .used = gone / campaign.payout_rate,
          // If the start were before the creation, the campaign would seem late from the beginning,
          // and its weight would be too high.
          .starts_at =
              std::max(campaign.starts_at.value_or(campaign.inserted_at), campaign.inserted_at),
          .ends_at = campaign.ends_at,
          .slots = slots_of(tx, campaign.id, targeting)};
}

struct Place {
  std::string owner_id;           // the owner of the app that asks
  std::int64_t least_payout = 0;  // from the placement's present pricing
};

Place place_of(db::Tx& tx, const ServeRequest& request) {
  Place place;
  {
    auto rows = tx.query(R"(SELECT owner_id FROM apps WHERE id = $1)", request.app_id);
    if (rows.next()) place.owner_id = rows.text("owner_id");
  }
  if (!request.ad_placement_id) return place;
  auto rows = tx.query(R"(
      SELECT surface_type, app_id
      FROM ad_placements
      WHERE id = $1 AND is_active = 1)",
                       *request.ad_placement_id);
  if (!rows.next()) throw Error(Code::placement_not_found, "there is no such placement");
  if (const auto type = db::enum_of<SurfaceType>(rows, "surface_type");
      type != request.surface_type)
    throw invalid_field("surface_type", "must be the placement's, " + std::string(to_string(type)));
  if (const auto app = rows.text_or_null("app_id"); app && *app != request.app_id)
    throw apps::foreign(tx, "the placement", *app, request.app_id);
  place.least_payout = tx.number(R"(
      SELECT min_rate
      FROM ad_pricing
      WHERE ad_placement_id = $1
        AND effective_from <= $2
        AND (effective_until IS NULL OR effective_until > $2)
      ORDER BY effective_from DESC
      LIMIT 1)",
                                 *request.ad_placement_id, tx.now());
  return place;
}

// The campaigns that the viewer has seen as often as they may today.
db::Query seen_enough_later(db::Tx& tx, const Rules& rules, const std::string& user_id) {
  return tx.query_later(R"(
      SELECT campaign_id
      FROM ad_views
      WHERE user_id = $1 AND day = $2 AND impressions >= $3)",
                        user_id, utc_day(tx.now()), rules.viewer_daily_impressions);
}

std::unordered_set<std::string> campaigns_of(db::Query rows) {
  std::unordered_set<std::string> campaigns;
  while (rows.next()) campaigns.insert(rows.text("campaign_id"));
  return campaigns;
}

// How many reservations of the app on the campaign are open, up to its limit.
db::Query open_of_app_later(db::Tx& tx, const Rules& rules, const std::string& campaign_id,
                            const std::string& app_id) {
  return tx.query_later(R"(
      SELECT count(*) AS open
      FROM (
        SELECT 1 AS one
        FROM ad_impressions
        WHERE campaign_id = $1 AND app_id = $2 AND used_at IS NULL AND expires_at > $3
        LIMIT $4
      ) AS open)",
                        campaign_id, app_id, tx.now(), rules.open_per_app);
}

bool has_room(db::Tx& tx, const Rules& rules, const campaigns::Campaign& campaign,
              const std::string& app_id, db::Query& open_of_app) {
  const std::int64_t open = campaign.reserved / campaign.payout_rate;
  if (open >= rules.open_per_campaign) return false;
  open_of_app.next();
  if (open_of_app.integer("open") >= rules.open_per_app) return false;
  const std::int64_t payable = (campaign.remaining + campaign.reserved) / campaign.payout_rate;
  const std::int64_t share = std::max<std::int64_t>(1, payable / owners_part);
  // Counts the reservations of all apps of the owner. If all open ones together are fewer than the
  // share, there is no need to count.
  return open < share || tx.number(R"(
      SELECT count(*)
      FROM ad_impressions
      WHERE campaign_id = $1
        AND app_id IN (
          SELECT id
          FROM apps
          WHERE owner_id = (SELECT owner_id FROM apps WHERE id = $2))
        AND used_at IS NULL
        AND expires_at > $3)",
                                   campaign.id, app_id, tx.now()) < share;
}

bool placement_has_room(db::Tx& tx, const std::string& campaign_placement_id) {
  return tx.number(R"(
      SELECT p.impressions_target - p.impressions_delivered - (
               SELECT count(*)
               FROM ad_impressions i
               WHERE i.campaign_placement_id = $1 AND i.used_at IS NULL AND i.expires_at > $2
             ) AS room
      FROM campaign_placements p
      WHERE p.id = $1 AND p.status = 'active' AND p.removed_at IS NULL)",
                   campaign_placement_id, tx.now()) > 0;
}

// Reserves the payout. Returns nothing, and changes nothing, if the tables say that the offer can't
// be taken.
std::optional<Served> reserve(db::Tx& tx, CampaignIndex& index, const Rules& rules,
                              const ServeRequest& request, const Choice::Offer& offer) {
  auto open_of_app = open_of_app_later(tx, rules, offer.campaign_id, request.app_id);
  auto campaign = campaigns::find(tx, offer.campaign_id);
  if (!campaign || campaign->status != campaigns::Status::active || campaign->is_over(tx.now()))
    return std::nullopt;
  if (campaign->remaining < campaign->payout_rate) return std::nullopt;
  if (!has_room(tx, rules, *campaign, request.app_id, open_of_app)) return std::nullopt;
  const std::optional<std::string> placement = offer.campaign_placement_id.empty()
                                                   ? std::nullopt
                                                   : std::optional(offer.campaign_placement_id);
  if (placement && !placement_has_room(tx, *placement)) return std::nullopt;
  const auto hold = holds::place(tx, {.source = ledger::campaign_account(campaign->id),
                                      .amount = campaign->payout_rate,
                                      .purpose = "impression",
                                      .life = rules.reservation_life,
                                      .has_account = campaign->reserved > 0});
  if (!hold) return std::nullopt;
  const std::string token = random_token("imp_");
  auto creative = index.next_creative(campaign->id);
  tx.execute_later(R"(
      INSERT INTO ad_impressions (id, token_hash, campaign_id, campaign_placement_id, app_id,
                                  user_id, created_at, expires_at, creative_id)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9))",
                   hold->id, token_hash(token), campaign->id, placement, request.app_id,
                   request.user_id, tx.now(), hold->expires_at,
                   creative ? std::optional(creative->id) : std::nullopt);
  return Served{.campaign = *std::move(campaign),
                .impression_id = hold->id,
                .impression_token = token,
                .expires_at = hold->expires_at,
                .creative = std::move(creative)};
}

}  // namespace

void CampaignIndex::changed(const std::string& campaign_id) {
  const std::lock_guard lock(changes_mutex_);
  is_fresh_ = false;
  if (is_loaded_) changed_.insert(campaign_id);
}

// Marks the known campaigns as changed, too, because some may have ended.
void CampaignIndex::any_changed() {
  std::vector<std::string> known;
  {
    const std::lock_guard lock(choice_mutex_);
    known = choice_.ids();
  }
  const std::lock_guard lock(changes_mutex_);
  is_fresh_ = is_loaded_ = false;
  changed_.insert(known.begin(), known.end());
}

void CampaignIndex::refresh(db::Database& database) {
  const auto is_fresh = [&] {
    const std::lock_guard lock(changes_mutex_);
    return is_fresh_;
  };
  if (is_fresh()) return;
  // A thread that comes while another one is reading waits for its result.
  const std::lock_guard one_at_a_time(refresh_mutex_);
  if (is_fresh()) return;
  std::unordered_set<std::string> ids;
  bool all = false;
  {
    const std::lock_guard lock(changes_mutex_);
    all = !is_loaded_;
    is_loaded_ = true;
    ids.swap(changed_);
  }
  try {
    // The snapshot begins after the changes were taken, so that it contains all of them.
    database.read([&](db::Tx& tx) {
      if (all) load_all(tx);
      for (const std::string& id : ids) load(tx, id);
    });
  } catch (...) {
    const std::lock_guard lock(changes_mutex_);
    is_loaded_ = is_loaded_ && !all;
    changed_.merge(ids);
    throw;
  }
  const std::lock_guard lock(changes_mutex_);
  is_fresh_ = changed_.empty();
}

void CampaignIndex::load_all(db::Tx& tx) {
  std::vector<std::string> ids;
  {
    auto rows = tx.query(R"(
        SELECT id
        FROM campaigns
        WHERE status = 'active'
        ORDER BY id)");
    while (rows.next()) ids.push_back(rows.text("id"));
  }
  for (const std::string& id : ids) load(tx, id);
}

void CampaignIndex::load(db::Tx& tx, const std::string& id) {
  const auto campaign = campaigns::find(tx, id);
  const bool is_active =
      campaign && campaign->status == campaigns::Status::active && !campaign->is_over(tx.now());
  const Advertiser advertiser = is_active ? advertiser_of(tx, campaign->app_id) : Advertiser();
  if (!is_active || advertiser.is_suspended) {
    const std::lock_guard lock(choice_mutex_);
    choice_.remove(id);
    creatives_.erase(id);
    return;
  }
  const Choice::Campaign candidate = candidate_of(tx, *campaign, advertiser.reach);
  Rotation rotation;
  if (campaign->creatives > 0)
    for (creatives::Creative& one : creatives::shown_of(tx, id))
      rotation.all.push_back(std::make_shared<const creatives::Creative>(std::move(one)));
  const std::lock_guard lock(choice_mutex_);
  choice_.put(candidate, tx.now());
  if (rotation.all.empty()) {
    creatives_.erase(id);
  } else {
    Rotation& known = creatives_[id];
    known.all = std::move(rotation.all);
  }
}

// The offers of one round, in the order of the rule. The one that next() has returned counts as
// accepted until the next call, so that requests that come meanwhile are offered others.
class CampaignIndex::Offers {
 public:
  Offers(CampaignIndex& index, const std::string& app_id, const Choice::Request& request)
      : index_(index), app_id_(app_id), request_(request) {
    request_.skip = [this, &request](const std::string& id) {
      return is_full(id) || (request.skip && request.skip(id));
    };
  }
  // Gives back the offers that weren't kept.
  ~Offers() {
    const std::lock_guard lock(index_.choice_mutex_);
    take_back();
  }
  Offers(const Offers&) = delete;
  Offers& operator=(const Offers&) = delete;

  // Most requests take the first offer, so the others are only looked for if they are needed.
  const std::optional<Choice::Offer>& next() {
    const std::lock_guard lock(index_.choice_mutex_);
    take_back();
    if (!has_first_) {
      has_first_ = true;
      present_ = index_.choice_.choose(request_, [](const Choice::Offer&) { return true; });
      if (present_) first_ = *present_;
      return present_;
    }
    if (!has_rest_) collect_rest();
    while (!present_ && next_ < rest_.size())
      if (Choice::Offer& offer = rest_[next_++]; index_.choice_.raise(offer, request_.now))
        present_ = offer;
    return present_;
  }
  // The present offer stays accepted.
  void keep() { present_.reset(); }

 private:
  bool is_full(const std::string& id) const {
    const auto of_app = index_.full_.find(app_id_);
    if (of_app == index_.full_.end()) return false;
    const auto found = of_app->second.find(id);
    return found != of_app->second.end() && found->second > request_.now;
  }
  void take_back() {
    if (present_) index_.choice_.take_back(*present_, request_.now);
    present_.reset();
  }
  void collect_rest() {
    has_rest_ = true;
    index_.choice_.choose(request_, [this](const Choice::Offer& offer) {
      if (offer.campaign_id != first_.campaign_id ||
          offer.campaign_placement_id != first_.campaign_placement_id)
        rest_.push_back(offer);
      return false;
    });
  }

  CampaignIndex& index_;
  const std::string& app_id_;
  Choice::Request request_;
  std::optional<Choice::Offer> present_;
  bool has_first_ = false, has_rest_ = false;
  Choice::Offer first_;
  std::vector<Choice::Offer> rest_;
  size_t next_ = 0;
};

std::optional<Choice::Offer> CampaignIndex::choose(
    const std::string& app_id, const Choice::Request& request,
    const std::function<bool(const Choice::Offer&)>& take) {
  for (int round = 0; round < max_rounds; ++round) {
    std::vector<std::string> refused;
    std::optional<Choice::Offer> taken;
    Offers offers(*this, app_id, request);
    while (const auto& offer = offers.next()) {
      if (take(*offer)) {
        taken = offer;
        offers.keep();
        break;
      }
      refused.push_back(offer->campaign_id);
    }
    if (refused.size() < many_refusals) return taken;
    note_full(app_id, refused, request.now);
    if (taken || refused.size() < size_t(Choice::max_offers)) return taken;
  }
  return std::nullopt;
}

void CampaignIndex::note_full(const std::string& app_id, const std::vector<std::string>& campaigns,
                              Instant now) {
  const std::lock_guard lock(choice_mutex_);
  if (full_.size() > most_full) full_.clear();
  auto& full = full_[app_id];
  if (full.size() > most_full) full.clear();
  for (const std::string& id : campaigns) full[id] = now + full_for;
}

std::shared_ptr<const creatives::Creative> CampaignIndex::next_creative(
    const std::string& campaign_id) {
  const std::lock_guard lock(choice_mutex_);
  const auto found = creatives_.find(campaign_id);
  if (found == creatives_.end()) return nullptr;
  Rotation& rotation = found->second;
  return rotation.all[rotation.next++ % rotation.all.size()];
}

size_t CampaignIndex::size() {
  const std::lock_guard lock(choice_mutex_);
  return choice_.size();
}

bool is_anything_old(db::Tx& tx) {
  return tx.number(R"(
      SELECT CASE WHEN EXISTS (SELECT 1 FROM ad_views WHERE day < $1)
                    OR EXISTS (SELECT 1 FROM ad_impressions
                               WHERE used_at IS NULL AND expires_at <= $2)
                  THEN 1 ELSE 0 END AS is_old)",
                   utc_day(tx.now()), tx.now() - expired_kept_for) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  const int views = tx.execute(R"(
      DELETE FROM ad_views
      WHERE (user_id, day, campaign_id) IN (
        SELECT user_id, day, campaign_id
        FROM ad_views
        WHERE day < $1
        LIMIT $2))",
                               utc_day(tx.now()), limit);
  return views + tx.execute(R"(
      DELETE FROM ad_impressions
      WHERE id IN (
        SELECT id
        FROM ad_impressions
        WHERE used_at IS NULL AND expires_at <= $1
        LIMIT $2))",
                            tx.now() - expired_kept_for, limit);
}

Served serve(db::Tx& tx, CampaignIndex& index, const Rules& rules, const ServeRequest& request) {
  tx.release_rows_early();
  auto seen_enough = seen_enough_later(tx, rules, request.user_id);
  const Place place = place_of(tx, request);
  const auto enough = campaigns_of(std::move(seen_enough));
  std::optional<Served> served;
  index.choose(request.app_id,
               {.surface_type = request.surface_type,
                .owner_id = place.owner_id,
                .viewing = request.viewing,
                .app_id = request.app_id,
                .ad_placement_id = request.ad_placement_id.value_or(""),
                .least_payout = place.least_payout,
                .now = tx.now(),
                .skip = [&](const std::string& id) { return enough.contains(id); }},
               [&](const Choice::Offer& offer) {
                 served = reserve(tx, index, rules, request, offer);
                 return served.has_value();
               });
  if (!served)
    throw Error(Code::no_ad_available, "there is no " +
                                           std::string(to_string(request.surface_type)) +
                                           " ad to show at the moment");
  return *std::move(served);
}

}  // namespace berth::ads
