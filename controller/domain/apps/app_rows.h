#pragma once

#include <string>
#include <vector>

#include "controller/domain/apps/apps.h"

// How apps are read from and checked before they are written to the database. Private to this
// module.
namespace berth::apps {

// `select_apps` is "SELECT … FROM apps ", to be continued with a WHERE clause. Its columns are
// those that app_of() reads, and those of the client secrets.
extern const std::string select_apps;
App app_of(const db::Query& row);
std::string stored_uris(const std::vector<std::string>& uris);  // a JSON array

// Replaces the app's origins, which must have passed check_profile().
void store_origins(db::Tx& tx, const std::string& app_id, const std::vector<std::string>& origins);

// Reserves the app's name for its owner (given_up_names.h), unless another owner's app has the same
// one: it then says nothing about whose the app is.
void give_name_up(db::Tx& tx, const App& app);

// Throws validation_failed that names every wrong field.
void check_profile(const Profile& profile);

}  // namespace berth::apps
