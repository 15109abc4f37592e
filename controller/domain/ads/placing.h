#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/domain/ads/campaigns.h"
#include "controller/domain/ads/targeting.h"

// Where campaigns are placed, and for whom: placements of a campaign with a part of its budget
// each, their segments, and named audiences to make segments of.
namespace berth::ads {

struct PlacementSegment {
  std::string id;
  std::string campaign_placement_id;
  Segment segment;
  Instant inserted_at;
};

// A campaign without placements is shown everywhere on its surface type; one with placements in
// those alone, as long as they are active. Where an app doesn't say the placement, any will do that
// isn't another app's.
struct CampaignPlacement {
  std::string id = {};
  std::string campaign_id = {};
  std::string ad_placement_id = {};
  std::int64_t allocated_budget = 0;    // the sum over a campaign's placements is within its budget
  std::int64_t impressions_target = 0;  // at most floor(allocated_budget / payout_rate)
  std::int64_t impressions_delivered = 0;  // paid ones
  std::string status = {};                 // active, paused, depleted: the target is reached
  std::vector<PlacementSegment> segments = {};
  Instant inserted_at = {};
  Instant updated_at = {};
};
inline constexpr std::int64_t max_campaign_placements = 16;
inline constexpr std::int64_t max_placement_segments = 24;

// All of these throw campaign_not_found and forbidden; where they take the id of a campaign's
// placement (that of the ad placement will do too), placement_not_found; where they change
// something, invalid_state where the campaign has ended.
Page<CampaignPlacement> list_campaign_placements(db::Tx& tx, const campaigns::Actor& actor,
                                                 const std::string& campaign_id,
                                                 const PageRequest& page);
struct NewCampaignPlacement {
  std::string ad_placement_id;
  std::int64_t allocated_budget = 0;
  std::optional<std::int64_t> impressions_target = {};  // else as many as the allocation pays
};
// Throws placement_not_found, validation_failed, invalid_state where it is placed there already.
CampaignPlacement place(db::Tx& tx, const campaigns::Actor& actor, const std::string& campaign_id,
                        const NewCampaignPlacement& wanted);
struct PlacementChange {
  std::optional<std::string> status = {};  // active, paused
  std::optional<std::int64_t> allocated_budget = {};
  std::optional<std::int64_t> impressions_target = {};
};
// Another allocation without a target sets the target to what it pays. A depleted one goes on once
// its target is raised. Throws validation_failed.
CampaignPlacement change_placement(db::Tx& tx, const campaigns::Actor& actor,
                                   const std::string& campaign_id, const std::string& id,
                                   const PlacementChange& change);
CampaignPlacement remove_placement(db::Tx& tx, const campaigns::Actor& actor,
                                   const std::string& campaign_id, const std::string& id);
// Throws validation_failed where there are too many.
PlacementSegment add_segment(db::Tx& tx, const campaigns::Actor& actor,
                             const std::string& campaign_id, const std::string& id,
                             const Segment& segment);

struct AudienceSegment {
  std::string id = {};
  std::optional<std::string> app_id = {};  // empty: made by an admin, for everybody
  std::string name = {};
  std::optional<std::string> game_type = {};
  std::optional<std::string> play_tier = {};
  std::optional<std::string> geography = {};
  std::optional<std::string> metadata = {};  // a JSON object
  Instant inserted_at = {};
};
// Throws validation_failed where it says nothing of the audience.
AudienceSegment create_segment(db::Tx& tx, const AudienceSegment& segment);
AudienceSegment update_segment(db::Tx& tx, const AudienceSegment& segment);
AudienceSegment get_segment(db::Tx& tx, const std::string& id);  // throws segment_not_found
// Those for everybody and the app's own; all of them where no app is named.
Page<AudienceSegment> list_segments(db::Tx& tx, const std::optional<std::string>& app_id,
                                    const PageRequest& page);
// As exact segments of a placement, one for each thing that it says. Throws segment_not_found,
// forbidden.
std::vector<Segment> segments_of_audience(db::Tx& tx, const std::string& app_id,
                                          const std::string& id);

}  // namespace berth::ads
