#pragma once

#include "api/gate/call.h"

// Handlers of operators' OAuth apps: registration, secrets, and administrators' decisions about an
// app.
namespace berth::api {

Reply create_app(db::Tx& tx, const Call& call, const Services& services);
Reply list_all_apps(db::Tx& tx, const Call& call, const Services& services);
Reply my_apps(db::Tx& tx, const Call& call, const Services& services);
Reply public_app(db::Tx& tx, const Call& call, const Services& services);
Reply rotate_secret(db::Tx& tx, const Call& call, const Services& services);
Reply promote_app(db::Tx& tx, const Call& call, const Services& services);
Reply suspend_app(db::Tx& tx, const Call& call, const Services& services);
Reply reactivate_app(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
