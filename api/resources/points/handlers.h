#pragma once

#include "api/gate/call.h"

// Points as users and operators see them: balances, transfers, spending, and an operator's
// earnings.
namespace berth::api {

Reply points_balance(db::Tx& tx, const Call& call, const Services& services);
Reply points_history(db::Tx& tx, const Call& call, const Services& services);
Reply points_days(db::Tx& tx, const Call& call, const Services& services);
Reply transfer_points(db::Tx& tx, const Call& call, const Services& services);
Reply spend_points(db::Tx& tx, const Call& call, const Services& services);
Reply award_points(db::Tx& tx, const Call& call, const Services& services);
Reply app_balance(db::Tx& tx, const Call& call, const Services& services);
Reply operator_analytics(db::Tx& tx, const Call& call, const Services& services);
Reply operator_analytics_days(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
