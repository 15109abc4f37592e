// Accounts, for the platform's administrators (x-internal-secret).
#include "api/resources/user_admin/handlers.h"

#include "api/gate/encode.h"
#include "api/resources/accounts/encode_user.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/lifecycle/ways_in.h"

namespace berth::api {
namespace {

json encode(const accounts::User& user) {
  json body = encode_user(user);
  body.update({{"suspended", user.suspended},
               {"points", user.points},
               {"registration_number", user.registration_number},
               {"inserted_at", to_iso8601(user.created_at)}});
  return body;
}

Reply envelope(const accounts::User& user) { return {.body = {{"user", encode(user)}}}; }

}  // namespace

Reply list_users(db::Tx& tx, const Call& call, const Services&) {
  return {.body =
              encode_page("users", accounts::list_users(tx, call.query("q"), call.page()), encode)};
}

Reply promote_user(db::Tx& tx, const Call& call, const Services&) {
  accounts::Promotion promotion = {.tier = text_or_nothing(call.body, "tier"), .is_admin = {}};
  if (call.body.contains("is_admin")) promotion.is_admin = call.body["is_admin"].get<bool>();
  if (!promotion.tier && !promotion.is_admin) throw invalid_field("tier", "is required");
  return envelope(accounts::promote(tx, call.id(), promotion, call.admin));
}

Reply suspend_user(db::Tx& tx, const Call& call, const Services& services) {
  return envelope(accounts::suspend(tx, call.id(), call.admin, services.keys));
}

Reply reactivate_user(db::Tx& tx, const Call& call, const Services&) {
  return envelope(accounts::reactivate(tx, call.id(), call.admin));
}

Reply end_user_sessions(db::Tx& tx, const Call& call, const Services& services) {
  const accounts::EndedWays ended =
      accounts::end_ways_in_as_admin(tx, call.id(), call.admin, services.keys, services.base_url);
  return {.body = {{"message", "all sessions and tokens of the account have ended"},
                   {"sessions", ended.sessions},
                   {"devices", ended.tokens.programs},
                   {"apps", ended.tokens.apps}}};
}

Reply rotate_session_key(const Call& call, const Services& services) {
  const std::string id = services.rotate_session_key();
  services.db.write([&](db::Tx& tx) { audit::record(tx, call.admin, "session_key.rotate", id); });
  return {.body = {{"kid", id}}};
}

}  // namespace berth::api
