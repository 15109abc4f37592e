#pragma once

#include "api/gate/call.h"

// The apps that a user has connected.
namespace berth::api {

Reply list_connected_apps(db::Tx& tx, const Call& call, const Services& services);
Reply get_connected_app(db::Tx& tx, const Call& call, const Services& services);
Reply limit_connected_app(db::Tx& tx, const Call& call, const Services& services);
Reply disconnect_app(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
