#pragma once

#include <string>

#include "controller/db/database.h"

namespace berth::deployments {

// Makes what an app has at present count against the limits of another account: its deployments
// that aren't destroyed with their custom domains, builds whose image is kept, and commands that
// run. What is over keeps the account that had it. The names count as the account's own from now
// on, and as nobody's alone (name_history.h). To be called when the app goes to the account. Throws
// deployment_limit_reached if that has no room in a tier.
void give_to(db::Tx& tx, const std::string& app_id, const std::string& owner_id,
             const std::string& data_key);

}  // namespace berth::deployments
