#pragma once

#include <vector>

#include "api/gate/route.h"

// The parts of the table of routes, and the parameters and rate limits that several rows share.
namespace berth::api {

// The parameters of every list that is returned in pages.
inline const std::vector<Param> paged = {
    {.name = "page",
     .type = "integer",
     .description = "The number of the page, counted from 1, which is the default.",
     .example = "1",
     .limits = R"({"minimum": 1, "maximum": 1000000})"},
    {.name = "page_size",
     .type = "integer",
     .description = "The greatest number of entries on a page. The default is 20.",
     .example = "20",
     .limits = R"({"minimum": 1, "maximum": 100})"},
    {.name = "cursor",
     .type = "string",
     .description =
         "The next_cursor of the page before, which was requested with the same filters. It "
         "replaces page.",
     .example = "eyJ2IjoxfQ"}};

// Returns `params` with one more parameter.
inline std::vector<Param> with(std::vector<Param> params, const Param& more) {
  params.push_back(more);
  return params;
}

inline constexpr Rate account_reads = per_minute(120);
inline constexpr Rate account_writes = per_minute(30);
// Counted for each network, and low because these operations allow guessing passwords.
inline constexpr Rate logins = per_minute(20);
inline constexpr Rate registrations = per_minute(20);
// Counted for each network, because the caller may be the server of a busy app.
inline constexpr Rate token_calls = per_minute(300);
// A stream that breaks is resumed within seconds. The number of open streams is limited by
// EventHub.
inline constexpr Rate stream_openings = per_minute(60);
inline constexpr Rate internal_calls = per_minute(600);
inline constexpr Rate password_calls = per_minute(10);  // each costs a hash, or a mail to somebody
inline constexpr Rate ad_reads = per_minute(60);
inline constexpr Rate ad_writes = per_minute(30);
// These limits come from the section "Limits" of the specification; berth has chosen those that it
// doesn't name.
inline constexpr Rate deploy_reads = per_minute(30);
inline constexpr Rate deploy_writes = per_minute(10);

// The rows of each resource, from api/resources/NAME/routes.cpp; routes.cpp joins them.
std::vector<Route> accounts_routes();
std::vector<Route> ad_packages_routes();
std::vector<Route> ad_placements_routes();
std::vector<Route> ad_pricing_routes();
std::vector<Route> ad_segments_routes();
std::vector<Route> ads_routes();
std::vector<Route> apps_routes();
std::vector<Route> avatars_routes();
std::vector<Route> billing_routes();
std::vector<Route> blocks_routes();
std::vector<Route> campaign_placements_routes();
std::vector<Route> campaigns_routes();
std::vector<Route> chat_routes();
std::vector<Route> connected_apps_routes();
std::vector<Route> container_logs_routes();
std::vector<Route> cosmetics_routes();
std::vector<Route> custom_domains_routes();
std::vector<Route> deployment_events_routes();
std::vector<Route> deployments_routes();
std::vector<Route> devices_routes();
std::vector<Route> email_changes_routes();
std::vector<Route> fleet_routes();
std::vector<Route> friends_routes();
std::vector<Route> internal_routes();
std::vector<Route> learning_routes();
std::vector<Route> ledger_routes();
std::vector<Route> meta_routes();
std::vector<Route> oauth_routes();
std::vector<Route> operators_routes();
std::vector<Route> passwords_routes();
std::vector<Route> play_sessions_routes();
std::vector<Route> points_routes();
std::vector<Route> presence_routes();
std::vector<Route> scope_requests_routes();
std::vector<Route> tiers_routes();
std::vector<Route> two_factor_routes();
std::vector<Route> user_admin_routes();
std::vector<Route> users_routes();
std::vector<Route> webhooks_routes();

}  // namespace berth::api
