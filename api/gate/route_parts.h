#pragma once

#include <vector>

#include "api/gate/route.h"

// What the rows of the table have in common, and the parts of the table that are in other files.
namespace berth::api {

inline const std::vector<Param> paged = {
    {.name = "page",
     .type = "integer",
     .description = "The number of the page, counted from 1.",
     .example = "1"},
    {.name = "page_size",
     .type = "integer",
     .description = "How many items a page has, 1 to 100. The default is 20.",
     .example = "20"}};

inline std::vector<Param> paged_by_status() {
  std::vector<Param> params = paged;
  params.push_back(
      {.name = "status",
       .type = "string",
       .description =
           "Returns only requests with this status: pending, approved, rejected or withdrawn.",
       .example = "pending"});
  return params;
}

inline constexpr Rate account_reads = per_minute(120);
inline constexpr Rate account_writes = per_minute(30);
// For one address; passwords can be guessed here.
inline constexpr Rate logins = per_minute(20);
inline constexpr Rate registrations = per_minute(20);
// For one address, which may be the server of a busy app.
inline constexpr Rate token_calls = per_minute(300);
// A stream that breaks is resumed within seconds. The number of open streams is limited by
// EventHub.
inline constexpr Rate stream_openings = per_minute(60);
inline constexpr Rate internal_calls = per_minute(600);

std::vector<Route> account_routes();         // resources/accounts/routes.cpp
std::vector<Route> account_safety_routes();  // resources/accounts/routes.cpp
std::vector<Route> user_admin_routes();      // resources/accounts/routes.cpp
std::vector<Route> oauth_routes();           // resources/oauth/routes.cpp
std::vector<Route> event_routes();           // resources/deployments/routes_events.cpp
std::vector<Route> webhook_routes();         // resources/deployments/routes_events.cpp
std::vector<Route> points_routes();          // resources/points/routes.cpp
std::vector<Route> operator_routes();        // resources/apps/routes.cpp
std::vector<Route> rollout_routes();         // resources/deployments/routes_rollouts.cpp
std::vector<Route> play_session_routes();    // resources/apps/routes.cpp
std::vector<Route> social_routes();          // resources/social/routes.cpp
std::vector<Route> chat_routes();            // resources/social/routes.cpp
std::vector<Route> avatar_routes();          // resources/items/routes.cpp
std::vector<Route> cosmetic_routes();        // resources/items/routes.cpp
std::vector<Route> learning_routes();        // resources/items/routes.cpp
std::vector<Route> item_admin_routes();      // resources/items/routes.cpp
std::vector<Route> billing_routes();         // resources/deployments/routes_billing.cpp

// resources/ads/routes.cpp
std::vector<Route> campaign_routes();
std::vector<Route> ad_routes();
// resources/ads/routes_market.cpp
std::vector<Route> ad_market_routes();
std::vector<Route> market_campaign_routes();
std::vector<Route> internal_ad_routes();

}  // namespace berth::api
