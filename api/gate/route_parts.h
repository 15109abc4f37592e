#pragma once

#include <vector>

#include "api/gate/route.h"

// What the rows of the table share, and the parts of the table that stand in files of their own.
namespace berth::api {

inline const std::vector<Param> paged = {
    {.name = "page", .type = "integer", .description = "Counted from 1.", .example = "1"},
    {.name = "page_size",
     .type = "integer",
     .description = "1 to 100; 20 where it is left out.",
     .example = "20"}};

inline std::vector<Param> paged_by_status() {
  std::vector<Param> params = paged;
  params.push_back({.name = "status",
                    .type = "string",
                    .description = "pending, approved, rejected or withdrawn.",
                    .example = "pending"});
  return params;
}

inline constexpr Rate account_reads = per_minute(120);
inline constexpr Rate account_writes = per_minute(30);
inline constexpr Rate logins =
    per_minute(20);  // of one address: passwords are guessed through here
inline constexpr Rate registrations = per_minute(20);
inline constexpr Rate token_calls =
    per_minute(300);  // of one address, which may be a busy app's server
// A stream that breaks is taken up again after seconds; what is open is bounded by EventHub.
inline constexpr Rate stream_openings = per_minute(60);
inline constexpr Rate internal_calls = per_minute(600);

std::vector<Route> account_routes();         // routes_accounts.cpp
std::vector<Route> account_safety_routes();  // routes_accounts.cpp
std::vector<Route> user_admin_routes();      // routes_accounts.cpp
std::vector<Route> oauth_routes();           // routes_oauth.cpp
std::vector<Route> event_routes();           // routes_events.cpp
std::vector<Route> webhook_routes();         // routes_events.cpp
std::vector<Route> points_routes();          // routes_points.cpp
std::vector<Route> operator_routes();        // routes_operators.cpp
std::vector<Route> rollout_routes();         // routes_rollouts.cpp
std::vector<Route> play_session_routes();    // routes_operators.cpp
std::vector<Route> social_routes();          // routes_social.cpp
std::vector<Route> chat_routes();            // routes_social.cpp
std::vector<Route> avatar_routes();          // routes_items.cpp
std::vector<Route> cosmetic_routes();        // routes_items.cpp
std::vector<Route> learning_routes();        // routes_items.cpp
std::vector<Route> item_admin_routes();      // routes_items.cpp
std::vector<Route> billing_routes();         // routes_billing.cpp

// routes_ads.cpp
std::vector<Route> campaign_routes();
std::vector<Route> ad_routes();
// routes_ad_market.cpp
std::vector<Route> ad_market_routes();
std::vector<Route> market_campaign_routes();
std::vector<Route> internal_ad_routes();

}  // namespace berth::api
