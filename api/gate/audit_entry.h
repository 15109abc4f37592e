#pragma once

#include "api/gate/call.h"
#include "controller/base/requester.h"
#include "controller/domain/kernel/audit.h"

// The entries that the gate writes into the audit log: one for each success that has changed
// something, unless its module has written one in the same transaction, or the operation's row says
// why there is none (Route::unaudited).
namespace berth::api {

// Whether a success of the route changes something, such as a login, which opens a session.
bool request_changes(const Route& route);

// Who has sent a call that has passed the gate. The actor is empty if nothing was shown.
Requester requester_of(const Call& call);

// Records the call that has this reply, if that is to be done, in the transaction of a
// WriteHandler. `changes_before` is what tx.changes() returned before the handler ran.
void record_success(db::Tx& tx, const Call& call, const Reply& reply, std::int64_t changes_before);
// The same for a FreeHandler, after it has returned, in a transaction of its own. Between the two a
// crash can lose the entry, but the caller has no answer then. So what a FreeHandler does with
// passwords, second factors, tokens and accounts calls audit::record_operation() in the transaction
// of its change.
void record_success(const Services& services, const Call& call, const Reply& reply,
                    Requester& requester);

}  // namespace berth::api
