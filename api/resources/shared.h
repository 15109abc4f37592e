#pragma once

#include "api/gate/call.h"

// What rows of several resources have in common.
namespace berth::api {

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

// What an operation on deployments needs. deploy:manage includes each of these scopes.
inline constexpr Access reads_deployments = oauth_token({Scope::deploy_read});
inline constexpr Access changes_deployments = oauth_token({Scope::deploy_write});
inline constexpr Access reads_logs = oauth_token({Scope::logs_read});

// Which admins may call an operation below /api/internal/: those with the role `admin`, and others.
constexpr Guards for_admins(Access access) {
  return {access, internal_calls, Shape::nested_but_access};
}
inline constexpr Guards admins = for_admins(internal());
inline constexpr Guards admins_in_person = for_admins(in_person(internal()));
inline constexpr Guards every_admin = for_admins(internal(
    {accounts::AdminRole::admin, accounts::AdminRole::support, accounts::AdminRole::finance}));
inline constexpr Guards admins_and_support =
    for_admins(internal({accounts::AdminRole::admin, accounts::AdminRole::support}));
inline constexpr Guards admins_and_finance =
    for_admins(internal({accounts::AdminRole::admin, accounts::AdminRole::finance}));
inline constexpr Guards admins_and_finance_in_person =
    for_admins(in_person(internal({accounts::AdminRole::admin, accounts::AdminRole::finance})));

// Placeholders of the paths of several resources.
inline constexpr Placeholder account_in_path = {"AccountId", "The id of the user.",
                                                "01936f5e-7c1a-7000-8000-000000000001"};
inline constexpr Placeholder app_in_path = {"AppId", "The id of the app.",
                                            "01936f5e-7c1a-7000-8000-000000000002"};
inline constexpr Placeholder campaign_in_path = {"CampaignId", "The id of the campaign.",
                                                 "01936f5e-7c1a-7000-8000-00000000000a"};
inline constexpr Placeholder deployment_in_path = {"DeploymentId", "The id of the deployment.",
                                                   "01936f5e-7c1a-7000-8000-000000000005"};
inline constexpr Placeholder internal_deployment_in_path = {
    "InternalDeploymentId", "The id of the deployment.", "01936f5e-7c1a-7000-8000-000000000005"};
inline constexpr Placeholder internal_app_in_path = {"InternalAppId", "The id of the app.",
                                                     "01936f5e-7c1a-7000-8000-000000000002"};
inline constexpr Placeholder own_app_in_path = {"OwnAppId", "The id of one of the caller's apps.",
                                                "01936f5e-7c1a-7000-8000-000000000002"};
inline constexpr Placeholder my_app_in_path = {"MyAppId", "The id of one of the caller's apps.",
                                               "01936f5e-7c1a-7000-8000-000000000002"};
inline constexpr Placeholder user_in_path = {"UserId", "The id of the user.",
                                             "01936f5e-7c1a-7000-8000-000000000001"};

// Why there is neither a command nor a page for an operation.
inline constexpr std::string_view called_by_apps =
    "An app calls it, with a token for its user; on the command line nobody plays.";
inline constexpr std::string_view played_in_games =
    "Games and sites build it into their own pages, where players meet.";
inline constexpr std::string_view shown_by_sites = "A site that presents the operators shows it.";
inline constexpr std::string_view shown_by_another =
    "The console shows the same with another operation.";

}  // namespace berth::api
