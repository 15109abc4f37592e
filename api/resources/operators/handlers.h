#pragma once

#include "api/gate/call.h"

// Handlers with which owners manage their apps, and of the public list of operators.
namespace berth::api {

Reply list_operator_apps(db::Tx& tx, const Call& call, const Services& services);
Reply get_operator_app(db::Tx& tx, const Call& call, const Services& services);
Reply update_operator_app(db::Tx& tx, const Call& call, const Services& services);
Reply delete_operator_app(db::Tx& tx, const Call& call, const Services& services);
Reply list_operators(db::Tx& tx, const Call& call, const Services& services);
Reply get_operator(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
