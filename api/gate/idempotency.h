#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/gate/call.h"
#include "controller/domain/kernel/idempotency_keys.h"

// Implements the header Idempotency-Key: for 24 hours (idempotency_keys::kept_for) the first answer
// is repeated byte for byte (after draft-ietf-httpapi-idempotency-key-header). A key belongs to its
// caller, method and path. Bodies are the same if they are the same JSON value, however it is
// written. Answers with 429 or 5xx aren't stored, so that the request can be
// repeated.
namespace berth::api::idempotency {

inline constexpr size_t max_key_length = 255;

using idempotency_keys::Slot;
// Throws malformed_request if the key is too long.
Slot slot(const Call& call, const Route& route, std::string_view key);

// Returns the answer stored for the slot. If there is none, the slot is reserved, and keep() must
// follow unless the transaction fails. Throws idempotency_conflict if the key was used with another
// body.
std::optional<Reply> find(db::Tx& tx, const Slot& slot);
// Stores the answer, in the same transaction as the effects of the request.
void keep(db::Tx& tx, const Slot& slot, const Reply& reply);

}  // namespace berth::api::idempotency
