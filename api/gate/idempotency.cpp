#include "api/gate/idempotency.h"

#include "api/gate/next_link.h"
#include "controller/base/crypto.h"

namespace berth::api::idempotency {
namespace {

std::string principal_of(const Call& call) {
  if (call.caller)
    return idempotency_keys::app_principal(call.caller->app_id, call.caller->user_id);
  if (call.play) return idempotency_keys::app_principal(call.play->app_id, call.play->user_id);
  return call.user ? idempotency_keys::user_principal(call.user->id)
                   : idempotency_keys::internal_principal;
}

// Returns the path, or its hash if somebody made it longer than any of berth's own.
std::string kept_path(const Call& call) {
  constexpr size_t longest = 255;
  const std::string path = canonical_path(call);
  return path.size() <= longest ? path : "sha256:" + hex(sha256(path));
}

// Programs write the same value in several ways: with blanks, with the fields in another order, 5.0
// for 5. The gate has read all of these as the same value, whose fields dump() sorts.
std::string hash_of_body(const Call& call, const Route& route) {
  const std::string canonical =
      !route.has_body() ? call.http.body
                        : call.body.dump(-1, ' ', false, json::error_handler_t::replace);
  return hex(sha256(canonical));
}

}  // namespace

Slot slot(const Call& call, const Route& route, std::string_view key) {
  if (key.size() > max_key_length)
    throw Error(Code::malformed_request, "Idempotency-Key must have at most 255 characters");
  return {.principal = principal_of(call),
          .method = std::string(route.method()),
          .path = kept_path(call),
          .key = std::string(key),
          .request_hash = hash_of_body(call, route)};
}

std::optional<Reply> find(db::Tx& tx, const Slot& slot) {
  const auto answer = idempotency_keys::find_or_reserve(tx, slot);
  if (!answer) return std::nullopt;
  if (answer->request_hash != slot.request_hash)
    throw Error(Code::idempotency_conflict, "this Idempotency-Key was used with another body");
  return Reply{.status = answer->status, .body = json::parse(answer->body)};
}

void keep(db::Tx& tx, const Slot& slot, const Reply& reply) {
  idempotency_keys::keep(tx, slot, reply.status, reply.body.dump());
}

}  // namespace berth::api::idempotency
