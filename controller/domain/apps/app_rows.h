#pragma once

#include <string>
#include <vector>

#include "controller/domain/apps/apps.h"

// How apps are stored and checked; for the files of this folder alone.
namespace berth::apps {

// "SELECT … FROM apps ", to be continued with a WHERE clause. Between the two stand app_columns,
// behind which a query may have columns of its own, from `after_app` on.
extern const std::string app_columns;
extern const std::string select_apps;
inline constexpr int after_app = 17;
App app_of(const db::Query& row);
std::string stored_uris(const std::vector<std::string>& uris);  // a JSON array

// Replaces the app's origins. They have passed check_profile().
void store_origins(db::Tx& tx, const std::string& app_id, const std::vector<std::string>& origins);

// Throws validation_failed with every field that is wrong.
void check_profile(const Profile& profile);

}  // namespace berth::apps
