#include "api/gate/idempotency.h"

#include "api/gate/next_link.h"
#include "controller/base/crypto.h"

namespace berth::api::idempotency {
namespace {

std::string principal_of(const Call& call) {
  if (call.caller) return "app:" + call.caller->app_id + ":user:" + call.caller->user_id;
  if (call.play) return "app:" + call.play->app_id + ":user:" + call.play->user_id;
  return call.user ? "user:" + call.user->id : "internal";
}

// Returns the path, or its hash if somebody made it longer than any of berth's own.
std::string kept_path(const Call& call) {
  constexpr size_t longest = 255;
  const std::string path = canonical_path(call);
  return path.size() <= longest ? path : "sha256:" + hex(sha256(path));
}

}  // namespace

Slot slot(const Call& call, const Route& route, std::string_view key) {
  if (key.size() > max_key_length)
    throw Error(Code::malformed_request, "Idempotency-Key must have at most 255 characters");
  return {.principal = principal_of(call),
          .method = std::string(route.method),
          .path = kept_path(call),
          .key = std::string(key),
          .request_hash = hex(sha256(call.http.body))};
}

std::optional<Reply> find(db::Tx& tx, const Slot& slot) {
  auto rows = tx.query(
      "SELECT request_hash, status, body FROM idempotency_keys "
      "WHERE principal = $1 AND method = $2 AND path = $3 AND key = $4 AND created_at > $5",
      slot.principal, slot.method, slot.path, slot.key, tx.now() - kept_for);
  if (!rows.next()) return std::nullopt;
  if (rows.text(0) != slot.request_hash)
    throw Error(Code::idempotency_conflict, "this Idempotency-Key was used with another body");
  return Reply{.status = int(rows.integer(1)), .body = json::parse(rows.text(2))};
}

// Replaces an answer that is too old but hasn't been removed by the expiry loop yet.
void keep(db::Tx& tx, const Slot& slot, const Reply& reply) {
  tx.execute(
      "INSERT OR REPLACE INTO idempotency_keys (principal, method, path, key, request_hash, "
      "status, body, created_at) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
      slot.principal, slot.method, slot.path, slot.key, slot.request_hash, reply.status,
      reply.body.dump(), tx.now());
}

}  // namespace berth::api::idempotency
