#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/enum_text.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/ads/targeting.h"

// Where campaigns are shown and to whom: a campaign's placements, each with a part of its budget;
// the segments of viewers of each placement; and named audiences, from which segments can be made.
namespace berth::ads {

struct PlacementSegment {
  std::string id;
  std::string campaign_placement_id;
  Segment segment;
  Instant inserted_at;
};

// `depleted` means that impressions_target is reached.
enum class PlacementStatus { active, paused, depleted };
constexpr auto texts_of(PlacementStatus) {
  return EnumTexts<PlacementStatus::depleted>{"active", "paused", "depleted"};
}

// A campaign without placements is shown everywhere on its surface type. A campaign with placements
// is shown only there, while they are active; if an app doesn't say which placement it asks for,
// any of them matches unless it belongs to another app.
struct CampaignPlacement {
  std::string id = {};
  std::string campaign_id = {};
  std::string ad_placement_id = {};
  std::int64_t allocated_budget = 0;    // summed over a campaign's placements, at most its budget
  std::int64_t impressions_target = 0;  // at most floor(allocated_budget / payout_rate)
  std::int64_t impressions_delivered = 0;  // paid ones
  PlacementStatus status = PlacementStatus::active;
  std::vector<PlacementSegment> segments = {};
  Instant inserted_at = {};
  Instant updated_at = {};
};
inline constexpr std::int64_t max_campaign_placements = 16;
inline constexpr std::int64_t max_placement_segments = 24;

// The functions on campaigns' placements throw campaign_not_found, and forbidden if another app
// owns the campaign. Those with the `id` of a campaign's placement also accept the id of the ad
// placement, and throw placement_not_found. Those that change something throw invalid_state if the
// campaign has ended.
Page<CampaignPlacement> list_campaign_placements(db::Tx& tx, const campaigns::Actor& actor,
                                                 const std::string& campaign_id,
                                                 const PageRequest& page);
struct NewCampaignPlacement {
  std::string ad_placement_id;
  std::int64_t allocated_budget = 0;
  // If empty, as many as the allocation pays for.
  std::optional<std::int64_t> impressions_target = {};
};
// Throws placement_not_found, validation_failed, and invalid_state if the campaign already has this
// placement.
CampaignPlacement place(db::Tx& tx, const campaigns::Actor& actor, const std::string& campaign_id,
                        const NewCampaignPlacement& wanted);
struct PlacementChange {
  std::optional<PlacementStatus> status = {};  // active or paused
  std::optional<std::int64_t> allocated_budget = {};
  std::optional<std::int64_t> impressions_target = {};
};
// If the allocation is changed without a target, the target becomes what the allocation pays for. A
// depleted placement becomes active again if its target is raised. Throws validation_failed.
CampaignPlacement change_placement(db::Tx& tx, const campaigns::Actor& actor,
                                   const std::string& campaign_id, const std::string& id,
                                   const PlacementChange& change);
// Removes a placement. Its part of the budget can then be allocated to others.
CampaignPlacement remove_placement(db::Tx& tx, const campaigns::Actor& actor,
                                   const std::string& campaign_id, const std::string& id);
// Returns the segments of a placement in the order in which they were added.
std::vector<PlacementSegment> segments_of(db::Tx& tx, const std::string& campaign_placement_id);
// Throws validation_failed if the placement would have too many segments.
PlacementSegment add_segment(db::Tx& tx, const campaigns::Actor& actor,
                             const std::string& campaign_id, const std::string& id,
                             const Segment& segment);

struct AudienceSegment {
  std::string id = {};
  std::optional<std::string> app_id = {};  // empty if an admin made it, for everybody
  std::string name = {};
  std::optional<std::string> game_type = {};
  std::optional<std::string> play_tier = {};
  std::optional<std::string> geography = {};
  std::optional<std::string> metadata = {};  // a JSON object
  Instant inserted_at = {};
};
// Throws validation_failed if it restricts none of the attributes.
AudienceSegment create_segment(db::Tx& tx, const AudienceSegment& segment);
AudienceSegment update_segment(db::Tx& tx, const AudienceSegment& segment);
AudienceSegment get_segment(db::Tx& tx, const std::string& id);  // throws segment_not_found
// Returns the segments for everybody and those of the app; those of all apps if `app_id` is empty.
Page<AudienceSegment> list_segments(db::Tx& tx, const std::optional<std::string>& app_id,
                                    const PageRequest& page);
// Returns the named audience as segments of a placement that match exactly, one for each attribute
// that it restricts. Throws segment_not_found and forbidden.
std::vector<Segment> segments_of_audience(db::Tx& tx, const std::string& app_id,
                                          const std::string& id);

}  // namespace berth::ads
