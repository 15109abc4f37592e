#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/gate/route.h"
#include "controller/domain/lifecycle/expiry.h"

// The header Idempotency-Key: the first answer comes again, byte for byte, for 24 hours (after
// draft-ietf-httpapi-idempotency-key-header). Keys belong to their caller.
namespace berth::api::idempotency {

inline constexpr size_t max_key_length = 255;
inline constexpr Duration kept_for = expiry::answers_kept_for;

struct Slot {
  std::string principal;
  std::string method;
  std::string path;
  std::string key;
  std::string request_hash;  // of the body: bodies themselves aren't kept
};
// Throws malformed_request where the key is too long.
Slot slot(const Call& call, const Route& route, std::string_view key);

// The answer kept for the slot. Throws idempotency_conflict where it belongs to another body.
std::optional<Reply> find(db::Tx& tx, const Slot& slot);
void keep(db::Tx& tx, const Slot& slot, const Reply& reply);

}  // namespace berth::api::idempotency
