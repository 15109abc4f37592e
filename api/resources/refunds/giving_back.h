#pragma once

#include <optional>
#include <string>

#include "api/gate/call.h"
#include "controller/domain/points/proposals.h"
#include "controller/domain/points/refund_requests.h"
#include "controller/domain/points/refunds.h"

// What the operations that give points back, and take them back, have in common.
namespace berth::api {

// Throws unless the caller may give away points of the app of their token: it has to be the app
// itself (client_credentials) or its owner, with a token that has all scopes that the app could get
// for it, or one of those that spend the app's points; or the owner in the console. Throws
// app_not_found, forbidden and insufficient_scope.
void require_may_give_back(db::Tx& tx, const Call& call);

json encode_refund(const points::Refund& refund);
json encode_request(db::Tx& tx, const refund_requests::Request& request);
// With the name of who asks, for those who answer.
json encode_request_for_answer(db::Tx& tx, const refund_requests::Request& request);
json encode_proposal(const proposals::Proposal& proposal);

// Does what an admin has ordered, or, if it needs another admin, stores a proposal. Returns the
// fields of the answer: those of carry_out(), or `proposal`. Throws what the order would be refused
// with now.
json order(db::Tx& tx, const Call& call, const Services& services, const proposals::Order& order);
// Does what the order says, in the name of the admin who calls. Returns the fields of the answer.
json carry_out(db::Tx& tx, const Call& call, const Services& services,
               const proposals::Order& order);

}  // namespace berth::api
