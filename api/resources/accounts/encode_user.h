#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "controller/domain/accounts/accounts.h"

namespace berth::api {

// The fields in every answer that shows a user to themselves or to an administrator.
inline nlohmann::json encode_user(const accounts::User& user) {
  return {{"id", user.id},
          {"email", user.email},
          {"username", user.username},
          {"tier", user.tier},
          {"is_admin", user.is_admin},
          {"admin_role", user.admin_role ? nlohmann::json(*user.admin_role) : nlohmann::json()},
          {"email_verified", user.email_verified},
          {"totp_enabled", user.totp_enabled},
          {"second_factor", user.has_second_factor()}};
}

// The user of RegisterResponse.
inline nlohmann::json encode_new_user(const accounts::User& user) {
  return {{"id", user.id},
          {"email", user.email},
          {"username", user.username},
          {"tier", user.tier},
          {"points", user.points},
          {"referral_code", user.referral_code},
          {"email_verified", user.email_verified},
          {"registration_number", user.registration_number}};
}

constexpr const char* tier_emoji(std::string_view tier) { return tier == "free" ? "🌱" : "⭐"; }

}  // namespace berth::api
