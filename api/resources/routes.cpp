#include "api/resources/routes.h"

#include "api/gate/cors.h"

namespace berth::api {

const std::vector<Route>& routes() {
  static const std::vector<Route> table = [] {
    std::vector<Route> all;
    for (auto* part : {
             accounts_routes,
             ad_packages_routes,
             ad_placements_routes,
             ad_pricing_routes,
             ad_segments_routes,
             ads_routes,
             apps_routes,
             avatars_routes,
             billing_routes,
             blocks_routes,
             campaign_placements_routes,
             campaigns_routes,
             chat_routes,
             connected_apps_routes,
             container_logs_routes,
             cosmetics_routes,
             custom_domains_routes,
             deployment_events_routes,
             deployments_routes,
             devices_routes,
             email_changes_routes,
             fleet_routes,
             friends_routes,
             internal_routes,
             learning_routes,
             ledger_routes,
             meta_routes,
             oauth_routes,
             operators_routes,
             passwords_routes,
             play_sessions_routes,
             points_routes,
             presence_routes,
             scope_requests_routes,
             tiers_routes,
             two_factor_routes,
             user_admin_routes,
             users_routes,
             webhooks_routes,
         })
      for (Route& route : part()) all.push_back(std::move(route));
    for (Route& route : all) route.cors = cors_of(route.path);
    return all;
  }();
  return table;
}

}  // namespace berth::api
