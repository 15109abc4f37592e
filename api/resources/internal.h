#pragma once

#include "api/gate/call.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/ledger/ledger.h"

// How admins are shown users, apps and deployments. Each is defined in its resource's file.
namespace berth::api {

json encode_for_admin(const accounts::User& user);
json encode_for_admin(db::Tx& tx, const apps::App& app);
json encode_for_admin(db::Tx& tx, const deployments::Deployment& row, const Services& services);

// How many of the newest movements of an account admins are shown.
inline constexpr int shown_movements = 20;
// The newest movements of points on an account, without what people wrote about them. Defined in
// internal_search.cpp.
json encode_movements(db::Tx& tx, const ledger::Account& account);

}  // namespace berth::api
