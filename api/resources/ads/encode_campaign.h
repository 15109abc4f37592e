#pragma once

#include <nlohmann/json.hpp>

#include "api/gate/encode.h"
#include "api/gate/route.h"
#include "controller/domain/ads/campaigns.h"

// Encoding and decoding that the handlers of campaigns share.
namespace berth::api {

// Parses an object that is stored as JSON text; null if there is none.
inline json or_null_object(const std::optional<std::string>& text) {
  return text ? json::parse(*text) : json(nullptr);
}

inline json encode(const campaigns::Campaign& campaign) {
  return {{"id", campaign.id},
          {"name", campaign.name},
          {"surface_type", campaign.surface_type},
          {"payout_rate", campaign.payout_rate},
          {"bitcoin_tier", false},
          {"targeting_metadata", or_null_object(campaign.targeting_metadata)},
          {"status", campaign.status},
          {"end_reason", or_null(campaign.end_reason)},
          {"budget", campaign.budget},
          {"spent", campaign.spent},
          {"reserved", campaign.reserved},
          {"remaining", campaign.remaining},
          {"refunded", campaign.refunded},
          {"rake_amount", campaign.rake},
          {"total_payment_made", campaign.total_payment},
          {"starts_at", or_null(campaign.starts_at)},
          {"ends_at", or_null(campaign.ends_at)},
          {"inserted_at", to_iso8601(campaign.inserted_at)},
          {"updated_at", to_iso8601(campaign.updated_at)}};
}

inline json encode_summary(const campaigns::Campaign& campaign) {
  return {{"id", campaign.id},
          {"name", campaign.name},
          {"surface_type", campaign.surface_type},
          {"budget", campaign.budget},
          {"payout_rate", campaign.payout_rate},
          {"status", campaign.status},
          {"inserted_at", to_iso8601(campaign.inserted_at)}};
}

// The app and user on whose behalf the call changes a campaign.
inline campaigns::Actor campaign_actor(const Call& call) {
  return {.app_id = call.caller->app_id, .user_id = call.caller->user_id};
}

// The time in a field; nothing if the field is missing or null.
inline std::optional<Instant> instant_or_nothing(const json& body, const char* field) {
  const auto text = text_or_nothing(body, field);
  return text ? parse_iso8601(*text) : std::nullopt;  // the schema has checked the format
}

// An object as JSON text; nothing if it is missing or null.
inline std::optional<std::string> object_or_nothing(const json& body, const char* field) {
  const auto value = body.find(field);
  return value == body.end() || value->is_null() ? std::nullopt : std::optional(value->dump());
}

inline campaigns::Order decode_campaign_order(const json& body) {
  return {.name = body.at("name"),
          .surface_type = body.at("surface_type"),
          .total_payment = body.at("total_payment"),
          .payout_rate = body.at("payout_rate"),
          .targeting_metadata = object_or_nothing(body, "targeting_metadata"),
          .starts_at = instant_or_nothing(body, "starts_at"),
          .ends_at = instant_or_nothing(body, "ends_at")};
}

}  // namespace berth::api
