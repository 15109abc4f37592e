#include <jwt.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "controller/base/error.h"
#include "controller/domain/accounts/accounts.h"

namespace berth::accounts {
namespace {

using Jwt = std::unique_ptr<jwt_t, decltype(&jwt_free)>;

const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

void check(int result, const char* what) {
  if (result != 0) throw std::runtime_error(std::string("libjwt: ") + what + " failed");
}

std::int64_t seconds(Instant at) { return to_millis(at) / 1000; }

// Returns the JWT if one of berth's keys signed it with HS256. It may have expired.
Jwt verified(const std::string& text, const Keys& keys) {
  const auto session_keys = keys.session.all();
  for (const SessionKeys::Key& key : *session_keys) {
    jwt_t* raw = nullptr;
    if (jwt_decode(&raw, text.c_str(), bytes_of(key.secret), int(key.secret.size())) != 0) continue;
    Jwt jwt(raw, jwt_free);
    // The header's algorithm must be the one that berth uses. "none" and others are refused (RFC
    // 8725, section 3.1).
    if (jwt_get_alg(raw) == JWT_ALG_HS256) return jwt;
  }
  throw Error(Code::invalid_token, "this isn't a valid session token");
}

std::string grant(const Jwt& jwt, const char* name) {
  const char* value = jwt_get_grant(jwt.get(), name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string session_jwt(const Session& session, const Keys& keys) {
  const SessionKeys::Key key = keys.session[0];
  jwt_t* raw = nullptr;
  check(jwt_new(&raw), "jwt_new");
  const Jwt jwt(raw, jwt_free);
  check(jwt_add_header(raw, "kid", key.id.c_str()), "jwt_add_header");
  check(jwt_add_grant(raw, "sub", session.user_id.c_str()), "jwt_add_grant");
  check(jwt_add_grant(raw, "sid", session.id.c_str()), "jwt_add_grant");
  check(jwt_add_grant_int(raw, "iat", seconds(session.created_at)), "jwt_add_grant_int");
  check(jwt_add_grant_int(raw, "exp", seconds(session.expires_at)), "jwt_add_grant_int");
  check(jwt_set_alg(raw, JWT_ALG_HS256, bytes_of(key.secret), int(key.secret.size())),
        "jwt_set_alg");
  const std::unique_ptr<char, decltype(&std::free)> text(jwt_encode_str(raw), std::free);
  if (!text) throw std::runtime_error("libjwt: jwt_encode_str failed");
  return text.get();
}

bool looks_like_jwt(std::string_view token) {
  return token.starts_with("ey") && std::ranges::count(token, '.') == 2;
}

SignedIn check_signed_in(db::Tx& tx, const std::string& text, const Keys& keys,
                         const UseLog* uses) {
  const Jwt jwt = verified(text, keys);
  auto rows = tx.query(
      R"(
      SELECT user_id, revoked_at, expires_at, idle_timeout,
             coalesce(last_used_at, created_at) AS used_at
      FROM sessions
      WHERE id = $1)",
      grant(jwt, "sid"));
  const bool known = rows.next() && rows.text("user_id") == grant(jwt, "sub");
  const auto refuse = [&](Code code, const char* why) {
    return with_event(
        Error(code, why),
        {.kind = SecurityKind::token_rejected, .reason = name(code), .user_id = grant(jwt, "sub")});
  };
  // The claim is checked first, because the rows of expired sessions are removed after a while.
  if (jwt_get_grant_int(jwt.get(), "exp") <= seconds(tx.now()))
    throw refuse(Code::token_expired, "the session has expired; log in again");
  if (!known) {
    // A suspension ends the sessions; a caller who shows one learns that the account is suspended.
    const auto owner = find(tx, grant(jwt, "sub"));
    if (owner && owner->suspended)
      throw refuse(Code::account_suspended, "the account is suspended");
    throw refuse(Code::token_revoked, "the session was ended");
  }
  if (!rows.null("revoked_at")) throw refuse(Code::token_revoked, "the session was ended");
  if (rows.instant("expires_at") <= tx.now())
    throw refuse(Code::token_expired, "the session has expired; log in again");
  const std::string session_id = grant(jwt, "sid");
  const bool ends_idle = !rows.null("idle_timeout");
  if (ends_idle) {
    const auto noted = uses == nullptr ? std::nullopt : uses->last(session_id);
    const Instant stored = rows.instant("used_at");
    const Instant last = std::max(stored, noted.value_or(stored));
    if (tx.now() - last >= Duration(rows.integer("idle_timeout")))
      throw refuse(Code::token_expired, "the session was idle for too long; log in again");
  }
  auto user = find(tx, rows.text("user_id"));
  if (!user) throw refuse(Code::token_revoked, "the account was deleted");
  if (user->suspended) throw refuse(Code::account_suspended, "the account is suspended");
  return {.user = std::move(*user), .session_id = session_id, .ends_idle = ends_idle};
}

User check_session(db::Tx& tx, const std::string& text, const Keys& keys) {
  return check_signed_in(tx, text, keys).user;
}

}  // namespace berth::accounts
