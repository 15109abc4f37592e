// The rotation of refresh tokens (RFC 6749 section 6, RFC 9700 section 4.14).

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

}  // namespace

Answer refresh(db::Tx& tx, const std::optional<apps::App>& client, const std::string& refresh_token,
               const Policy& policy, const std::optional<std::string>& scope) {
  const auto shown = find_shown(tx, refresh_token);
  if (!shown) return bad_refresh("the refresh token is unknown", "unknown");
  const db::Query& rows = shown->row;
  const Holder holder = holder_of(rows);
  if (client && holder.app_id != client->id)
    return bad_refresh("the refresh token is unknown", "of_another_client", holder.user_id);
  // This is checked first, so that a caller without the client's secret can't change anything.
  if (!client && rows.flag("refresh_requires_client"))
    return std::unexpected(
        Error(Code::invalid_client, "this app must refresh with its client_id and client_secret"));
  const Family family = {.id = rows.text("family_id"),
                         .end = holder.family_end,
                         .mark = mark_of(refresh_token),
                         .mark_hash = shown->stored.substr(0, shown->stored.find('.'))};
  const std::optional<openid::Login> login = login_of(rows);
  const auto consumed = rows.instant_or_null("consumed_at");
  if (shown->was_removed || consumed) {
    // A client that lost the answer tries again within the grace. After that, either the caller or
    // the earlier one is a thief, so all tokens of the family are revoked.
    const bool is_replay = shown->was_removed || tx.now() - *consumed >= policy.refresh_reuse_grace;
    if (is_replay)
      end_reused_family(tx, family.id,
                        {.kind = "refresh_token",
                         .app_id = holder.app_id,
                         .user_id = holder.user_id,
                         .by_client = client.has_value()});
    return bad_refresh("the refresh token was used before",
                       is_replay ? "family_revoked" : "within_grace", holder.user_id,
                       SecurityKind::refresh_token_reused);
  }
  const Instant expires_at = rows.instant("expires_at");
  try {
    check_holder(rows, expires_at, tx.now());
  } catch (const Error& refusal) {
    // The usual message of this error tells the caller to refresh, which is what failed here.
    return bad_refresh(refusal.code == Code::token_expired
                           ? "the refresh token has expired; ask the user again"
                           : refusal.what(),
                       name(refusal.code), holder.user_id);
  }
  ScopeSet scopes = holder.scopes;
  if (scope) {
    const auto asked = parse_scopes(*scope);
    if (!asked || !asked->within(holder.scopes.with_included()))
      return std::unexpected(
          Error(Code::invalid_scope, "scope must contain some of: " + holder.scopes.text()));
    scopes = *asked;
  }
  if (scopes.empty())
    return bad_refresh("the app has lost the scopes of this token", "scopes_withdrawn",
                       holder.user_id);
  tx.require_change(R"(
      UPDATE refresh_tokens
      SET consumed_at = $2
      WHERE token_hash = $1 AND consumed_at IS NULL)",
                    shown->stored, tx.now());
  // Those whose reuse ends the family in any case need no row. The one before this was consumed
  // when this one was made; if that is too short a time ago, there is nothing to remove, and a
  // client that refreshes all the time doesn't pay for the search.
  const Instant made_at = expires_at - refresh_token_lifetime;  // or later
  const Instant before_grace = tx.now() - policy.refresh_reuse_grace;
  if (made_at <= before_grace) remove_consumed_tokens(tx, family, before_grace);
  Tokens tokens =
      add_tokens(tx, family, scopes, holder.user_id, scope ? std::optional(scopes) : std::nullopt);
  tokens.first_party = holder.built_in;
  // A refreshed ID token has no nonce (OpenID Connect Core 1.0, section 12.2).
  if (scopes.has(Scope::openid)) tokens.login = login;
  return tokens;
}

}  // namespace berth::oauth
