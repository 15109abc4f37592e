#pragma once

#include "api/gate/call.h"

// Learning modules: the progress of users, and the reward for completing one.
namespace berth::api {

Reply list_modules(db::Tx& tx, const Call& call, const Services& services);
Reply get_module(db::Tx& tx, const Call& call, const Services& services);
Reply report_progress(db::Tx& tx, const Call& call, const Services& services);
Reply get_learning_path(db::Tx& tx, const Call& call, const Services& services);
Reply choose_learning_path(db::Tx& tx, const Call& call, const Services& services);
Reply internal_modules(db::Tx& tx, const Call& call, const Services& services);
Reply create_module(db::Tx& tx, const Call& call, const Services& services);
Reply change_module(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
