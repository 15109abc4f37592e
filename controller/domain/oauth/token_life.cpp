// Refreshing, checking and revoking tokens.
#include <algorithm>

#include "controller/base/crypto.h"
#include "controller/domain/oauth/oauth.h"
#include "controller/domain/oauth/token_rows.h"

namespace berth::oauth {
namespace {

std::unexpected<Error> bad_refresh(const char* why, std::string_view reason,
                                   const std::string& user_id = {},
                                   SecurityKind kind = SecurityKind::token_rejected) {
  return std::unexpected(with_event(
      Error(Code::consumed_refresh_token, why),
      {.kind = kind, .reason = reason, .user_id = user_id, .token_kind = "refresh_token"}));
}

db::Query find_refresh_token(db::Tx& tx, const std::string& hash) {
  static const std::string sql = select_holder + R"(
             t.family_id, t.expires_at, t.consumed_at, a.refresh_requires_client
      FROM refresh_tokens t)" + of_token;
  return tx.query(sql, hash);
}

db::Query find_access_token(db::Tx& tx, const std::string& hash) {
  static const std::string sql = select_holder + R"(
             t.scopes, t.expires_at, t.revoked_at
      FROM access_tokens t)" + of_token;
  return tx.query(sql, hash);
}

Caller caller_of(const db::Query& row, Instant now) {
  const Instant expires_at = row.instant("expires_at");
  if (!row.null("revoked_at")) throw Error(Code::token_revoked, "the token was revoked");
  check_holder(row, expires_at, now);
  const Holder holder = holder_of(row);
  const auto narrowed = row.text_or_null("scopes");
  return {.user_id = holder.user_id,
          .app_id = holder.app_id,
          .grant_id = holder.grant_id,
          .scopes = narrowed ? holder.scopes & stored_scopes(*narrowed) : holder.scopes,
          .expires_at = std::min(expires_at, holder.family_end)};
}

// Introspection reports a refused token as inactive: returns nothing if `look` throws an Error.
template <typename Look>
std::optional<TokenFacts> unless_refused(Look&& look) {
  try {
    return look();
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<TokenFacts> access_facts(db::Tx& tx, const apps::App& client,
                                       const std::string& hash) {
  auto rows = find_access_token(tx, hash);
  if (!rows.next() || !is_held_by(rows, client.id)) return std::nullopt;
  return unless_refused([&] {
    const Caller caller = caller_of(rows, tx.now());
    return std::optional(TokenFacts{.kind = TokenFacts::Kind::access,
                                    .user_id = caller.user_id,
                                    .scopes = caller.scopes,
                                    .expires_at = caller.expires_at});
  });
}

std::optional<TokenFacts> refresh_facts(db::Tx& tx, const apps::App& client,
                                        const std::string& hash) {
  auto rows = find_refresh_token(tx, hash);
  const bool is_usable = rows.next() && rows.null("consumed_at");
  if (!is_usable || !is_held_by(rows, client.id)) return std::nullopt;
  const Holder holder = holder_of(rows);
  return unless_refused([&] {
    const Instant expires_at = rows.instant("expires_at");
    check_holder(rows, expires_at, tx.now());
    return std::optional(TokenFacts{.kind = TokenFacts::Kind::refresh,
                                    .user_id = holder.user_id,
                                    .scopes = holder.scopes,
                                    .expires_at = expires_at});
  });
}

std::optional<TokenFacts> session_facts(db::Tx& tx, const apps::App& client,
                                        const std::string& token) {
  return unless_refused([&]() -> std::optional<TokenFacts> {
    const play::Session session = play::check(tx, token);
    if (session.app_id != client.id || session.ended_at) return std::nullopt;
    return TokenFacts{.kind = TokenFacts::Kind::session,
                      .user_id = session.user_id,
                      .scopes = {},
                      .expires_at = session.expires_at};
  });
}

void refuse_unless(bool is_own) {
  if (!is_own) throw Error(Code::invalid_grant, "the token was given to another client");
}

}  // namespace

Answer refresh(db::Tx& tx, const std::optional<apps::App>& client, const std::string& refresh_token,
               const Policy& policy, const std::optional<std::string>& scope) {
  const std::string hash = token_hash(refresh_token);
  auto rows = find_refresh_token(tx, hash);
  if (!rows.next()) return bad_refresh("the refresh token is unknown", "unknown");
  const Holder holder = holder_of(rows);
  if (client && holder.app_id != client->id)
    return bad_refresh("the refresh token is unknown", "of_another_client", holder.user_id);
  // This is checked first, so that a caller without the client's secret can't change anything.
  if (!client && rows.flag("refresh_requires_client"))
    return std::unexpected(
        Error(Code::invalid_client, "this app must refresh with its client_id and client_secret"));
  const Family family = {.id = rows.text("family_id"), .end = holder.family_end};
  if (const auto consumed = rows.instant_or_null("consumed_at")) {
    // A client that lost the answer tries again within the grace. After that, either the caller or
    // the earlier one is a thief, so all tokens of the family are revoked.
    const bool is_replay = tx.now() - *consumed >= policy.refresh_reuse_grace;
    if (is_replay) revoke_family(tx, family.id);
    return bad_refresh("the refresh token was used before",
                       is_replay ? "family_revoked" : "within_grace", holder.user_id,
                       SecurityKind::refresh_token_reused);
  }
  try {
    check_holder(rows, rows.instant("expires_at"), tx.now());
  } catch (const Error& refusal) {
    // Callers who get this error elsewhere are told to refresh, which is what failed here.
    return bad_refresh(refusal.code == Code::token_expired
                           ? "the refresh token has expired; ask the user again"
                           : refusal.what(),
                       name(refusal.code), holder.user_id);
  }
  ScopeSet scopes = holder.scopes;
  if (scope) {
    const auto asked = parse_scopes(*scope);
    if (!asked || !asked->within(holder.scopes))
      return std::unexpected(
          Error(Code::invalid_scope, "scope must contain some of: " + holder.scopes.text()));
    scopes = *asked;
  }
  if (scopes.empty())
    return bad_refresh("the app has lost the scopes of this token", "scopes_withdrawn",
                       holder.user_id);
  tx.execute(R"(
      UPDATE refresh_tokens
      SET consumed_at = $2
      WHERE token_hash = $1)",
             hash, tx.now());
  const Instant expires_at = std::min(tx.now() + access_token_lifetime, family.end);
  return Tokens{.access_token = add_access_token(tx, family.id, expires_at,
                                                 scope ? std::optional(scopes) : std::nullopt),
                .access_token_expires_at = expires_at,
                .refresh_token = add_refresh_token(tx, family),
                .scopes = scopes,
                .user_id = holder.user_id,
                .session_token = {},
                .session_token_expires_at = {}};
}

Caller check_access_token(db::Tx& tx, const std::string& token) {
  auto rows = find_access_token(tx, token_hash(token));
  if (!rows.next()) throw Error(Code::invalid_token, "the access token is unknown");
  try {
    return caller_of(rows, tx.now());
  } catch (Error& refusal) {
    refusal.event = {.kind = SecurityKind::token_rejected,
                     .reason = name(refusal.code),
                     .user_id = holder_of(rows).user_id};
    throw;
  }
}

Introspection introspect(db::Tx& tx, const std::string& token) {
  try {
    return {.active = check_access_token(tx, token), .reason = {}};
  } catch (const Error& refusal) {
    switch (refusal.code) {
      case Code::token_expired:
        return {.active = {}, .reason = "expired"};
      case Code::token_revoked:
        return {.active = {}, .reason = "revoked"};
      case Code::account_suspended:
        return {.active = {}, .reason = "suspended"};
      default:
        return {.active = {}, .reason = "not_found"};
    }
  }
}

std::optional<TokenFacts> introspect_for(db::Tx& tx, const apps::App& client,
                                         const std::string& token) {
  if (token.starts_with("at_live_")) return access_facts(tx, client, token_hash(token));
  if (token.starts_with("rt_live_")) return refresh_facts(tx, client, token_hash(token));
  if (token.starts_with("st_live_")) return session_facts(tx, client, token);
  return std::nullopt;
}

void revoke(db::Tx& tx, const apps::App& client, const std::string& token) {
  const std::string hash = token_hash(token);
  if (auto access = find_access_token(tx, hash); access.next()) {
    refuse_unless(is_held_by(access, client.id));
    tx.execute(R"(
        UPDATE access_tokens
        SET revoked_at = coalesce(revoked_at, $2)
        WHERE token_hash = $1)",
               hash, tx.now());
  } else if (auto refresh_token = find_refresh_token(tx, hash); refresh_token.next()) {
    refuse_unless(is_held_by(refresh_token, client.id));
    revoke_family(tx, refresh_token.text("family_id"));
  } else if (const auto session = play::find(tx, token)) {
    refuse_unless(session->app_id == client.id);
    play::end(tx, *session);
  }
}

}  // namespace berth::oauth
