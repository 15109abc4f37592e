#pragma once

#include <nlohmann/json.hpp>

#include "api/resources/ads/encode_campaign.h"
#include "controller/domain/ads/market.h"
#include "controller/domain/ads/packages.h"
#include "controller/domain/ads/placing.h"

// Encoding and decoding that the handlers of the ad market share, for operators and administrators.
namespace berth::api {

// Returns a number that is stored in hundredths.
inline double multiplier(std::int64_t hundredths) { return double(hundredths) / 100.0; }

inline json encode(const ads::Placement& placement) {
  return {{"id", placement.id},
          {"name", placement.name},
          {"surface_type", placement.surface_type},
          {"app_id", or_null(placement.app_id)},
          {"description", placement.description},
          {"is_active", placement.is_active},
          {"inserted_at", to_iso8601(placement.inserted_at)},
          {"updated_at", to_iso8601(placement.updated_at)}};
}

inline json encode(const ads::Rate& rate) {
  return {{"surface_type", rate.surface_type},
          {"base_rate", rate.base_rate},
          {"demand_multiplier", multiplier(rate.demand)},
          {"popularity_score", multiplier(rate.popularity)},
          {"effective_rate", rate.effective_rate()},
          {"floor_price", rate.floor_price},
          {"ceiling_price", rate.ceiling_price()}};
}

inline json encode(const ads::Pricing& pricing) {
  return {{"id", pricing.id},
          {"ad_placement_id", pricing.ad_placement_id},
          {"base_rate", pricing.base_rate},
          {"min_rate", pricing.min_rate},
          {"max_rate", pricing.max_rate},
          {"effective_rate", pricing.effective_rate()},
          {"demand_multiplier", multiplier(pricing.demand)},
          {"effective_from", to_iso8601(pricing.effective_from)},
          {"effective_until", or_null(pricing.effective_until)},
          {"inserted_at", to_iso8601(pricing.inserted_at)},
          {"updated_at", to_iso8601(pricing.updated_at)}};
}

inline json encode(const ads::Package& package) {
  return {{"id", package.id},
          {"name", package.name},
          {"description", or_null(package.description)},
          {"discount_percentage", package.discount_percentage},
          {"min_surfaces", package.min_surfaces},
          {"min_impressions", package.min_impressions},
          {"is_active", package.is_active},
          {"inserted_at", to_iso8601(package.inserted_at)},
          {"updated_at", to_iso8601(package.updated_at)}};
}

inline json encode(const ads::Purchase& purchase) {
  json ids = json::array();
  json surfaces = json::array();
  for (const ads::BoughtSurface& one : purchase.surfaces) {
    ids.push_back(one.campaign_id);
    surfaces.push_back({{"surface_type", one.surface_type},
                        {"impressions", one.impressions},
                        {"rate", one.rate},
                        {"discount", one.discount},
                        {"charged", one.charged},
                        {"campaign_id", one.campaign_id}});
  }
  return {{"id", purchase.id},
          {"ad_package_id", purchase.ad_package_id},
          {"operator_id", purchase.app_id},
          {"campaign_ids", std::move(ids)},
          {"surfaces", std::move(surfaces)},
          {"subtotal", purchase.subtotal},
          {"discount_amount", purchase.discount_amount},
          {"rake_amount", purchase.rake_amount},
          {"total_charged", purchase.total_charged},
          {"status", purchase.status},
          {"inserted_at", to_iso8601(purchase.inserted_at)},
          {"updated_at", to_iso8601(purchase.updated_at)}};
}

inline json encode(const ads::PlacementSegment& one) {
  return {{"id", one.id},
          {"campaign_placement_id", one.campaign_placement_id},
          {"segment_type", one.segment.type},
          {"segment_value", one.segment.value},
          {"match_mode", one.segment.match_mode},
          {"inserted_at", to_iso8601(one.inserted_at)}};
}

inline json encode(const ads::CampaignPlacement& placed) {
  json segments = json::array();
  for (const auto& segment : placed.segments) segments.push_back(encode(segment));
  return {{"id", placed.id},
          {"campaign_id", placed.campaign_id},
          {"ad_placement_id", placed.ad_placement_id},
          {"allocated_budget", placed.allocated_budget},
          {"impressions_delivered", placed.impressions_delivered},
          {"impressions_target", placed.impressions_target},
          {"status", placed.status},
          {"inserted_at", to_iso8601(placed.inserted_at)},
          {"updated_at", to_iso8601(placed.updated_at)},
          {"segments", std::move(segments)}};
}

inline json encode(const ads::AudienceSegment& segment) {
  return {{"id", segment.id},
          {"name", segment.name},
          {"game_type", or_null(segment.game_type)},
          {"play_tier", or_null(segment.play_tier)},
          {"geography", or_null(segment.geography)},
          {"metadata", or_null_object(segment.metadata)},
          {"inserted_at", to_iso8601(segment.inserted_at)}};
}

// Returns `segment` with the fields that a body sets.
inline ads::AudienceSegment decode_segment(const json& body, ads::AudienceSegment segment) {
  segment.name = body.value("name", segment.name);
  if (body.contains("game_type")) segment.game_type = text_or_nothing(body, "game_type");
  if (body.contains("play_tier")) segment.play_tier = text_or_nothing(body, "play_tier");
  if (body.contains("geography")) segment.geography = text_or_nothing(body, "geography");
  if (body.contains("metadata")) segment.metadata = object_or_nothing(body, "metadata");
  return segment;
}

}  // namespace berth::api
