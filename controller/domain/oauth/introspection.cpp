// Checking, inspecting and revoking tokens (RFC 7662, RFC 7009).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/crypto.h"
#include "controller/domain/oauth/first_party.h"
#include "controller/domain/oauth/oauth.h"
#include "controller/domain/oauth/token_rows.h"

namespace berth::oauth {
namespace {

const std::string& find_access_token() {
  static const std::string sql = select_holder + R"(
             t.scopes, t.expires_at, t.revoked_at
      FROM access_tokens t)" + of_token;
  return sql;
}

// The only deployments that the token may be used for; empty if it may be used for all of the
// app's.
std::vector<std::string> deployments_of(const db::Query& row) {
  const auto stored = row.text_or_null("family_deployments");
  return stored ? nlohmann::json::parse(*stored).get<std::vector<std::string>>()
                : std::vector<std::string>();
}

Caller caller_of(const db::Query& row, Instant now) {
  const Instant expires_at = row.instant("expires_at");
  if (!row.null("revoked_at")) throw Error(Code::token_revoked, "the token was revoked");
  check_holder(row, expires_at, now);
  Holder holder = holder_of(row);
  std::string family_id = row.text("family_id");
  std::vector<std::string> deployments = deployments_of(row);
  const auto narrowed = row.text_or_null("scopes");
  return {.user_id = std::move(holder.user_id),
          .app_id = std::move(holder.app_id),
          .grant_id = std::move(holder.grant_id),
          .family_id = std::move(family_id),
          .scopes = narrowed ? stored_scopes(*narrowed).cut_to(holder.scopes) : holder.scopes,
          .expires_at = std::min(expires_at, holder.family_end),
          .first_party = holder.built_in,
          .deployments = std::move(deployments),
          .owns_app = holder.owns_app,
          .unregistered = holder.unregistered,
          .tells_of_spends = holder.tells_of_spends,
          .is_guest = holder.is_guest};
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

std::optional<TokenFacts> access_facts(db::Query& rows, const apps::App& client, Instant now) {
  if (!rows.next() || !is_held_by(rows, client.id)) return std::nullopt;
  return unless_refused([&] {
    const Caller caller = caller_of(rows, now);
    return std::optional(TokenFacts{.kind = TokenKind::access,
                                    .user_id = caller.user_id,
                                    .scopes = caller.scopes,
                                    .expires_at = caller.expires_at});
  });
}

std::optional<TokenFacts> refresh_facts(db::Query& rows, const apps::App& client, Instant now) {
  const bool is_usable = rows.next() && rows.null("consumed_at");
  if (!is_usable || !is_held_by(rows, client.id)) return std::nullopt;
  const Holder holder = holder_of(rows);
  return unless_refused([&] {
    const Instant expires_at = rows.instant("expires_at");
    check_holder(rows, expires_at, now);
    return std::optional(TokenFacts{.kind = TokenKind::refresh,
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
    return TokenFacts{.kind = TokenKind::session,
                      .user_id = session.user_id,
                      .scopes = {},
                      .expires_at = session.expires_at};
  });
}

void refuse_unless(bool is_own) {
  if (!is_own) throw Error(Code::invalid_grant, "the token was given to another client");
}

}  // namespace

Caller check_access_token(db::Tx& tx, const std::string& token) {
  auto rows = tx.query(find_access_token(), token_hash(token));
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

bool is_of_built_in_client(db::Tx& tx, const std::string& access_token) {
  return tx.number(R"(
      SELECT count(*)
      FROM access_tokens t
      JOIN token_families f ON f.id = t.family_id
      JOIN grants g ON g.id = f.grant_id
      JOIN apps a ON a.id = g.app_id
      WHERE t.token_hash = $1 AND a.built_in = 1)",
                   token_hash(access_token)) > 0;
}

Introspection introspect(db::Tx& tx, const std::string& token) {
  try {
    return {.active = check_access_token(tx, token), .reason = {}};
  } catch (const Error& refusal) {
    switch (refusal.code) {
      case Code::token_expired:
        return {.active = {}, .reason = Inactive::expired};
      case Code::token_revoked:
        return {.active = {}, .reason = Inactive::revoked};
      case Code::account_suspended:
        return {.active = {}, .reason = Inactive::suspended};
      default:
        return {.active = {}, .reason = Inactive::not_found};
    }
  }
}

TokenLookup::TokenLookup(db::Tx& tx, std::string token) : tx_(tx), token_(std::move(token)) {
  if (token_.starts_with("at_live_"))
    rows_.emplace(tx.query_later(find_access_token(), token_hash(token_)));
  else if (token_.starts_with("rt_live_"))
    rows_.emplace(tx.query_later(find_refresh_token, stored_refresh_token(token_)));
}

std::optional<TokenFacts> TokenLookup::facts_for(const apps::App& client) {
  if (token_.starts_with("at_live_")) return access_facts(*rows_, client, tx_.now());
  if (token_.starts_with("rt_live_")) return refresh_facts(*rows_, client, tx_.now());
  if (token_.starts_with("st_live_")) return session_facts(tx_, client, token_);
  return std::nullopt;
}

void revoke(db::Tx& tx, const apps::App& client, const std::string& token) {
  const std::string hash = token_hash(token);
  if (auto access = tx.query(find_access_token(), hash); access.next()) {
    refuse_unless(is_held_by(access, client.id));
    tx.execute(R"(
        UPDATE access_tokens
        SET revoked_at = $2
        WHERE token_hash = $1 AND revoked_at IS NULL)",
               hash, tx.now());
  } else if (const auto shown = find_shown(tx, token)) {
    refuse_unless(is_held_by(shown->row, client.id));
    revoke_family(tx, shown->row.text("family_id"));
  } else if (const auto session = play::find(tx, token)) {
    refuse_unless(session->app_id == client.id);
    play::end(tx, *session);
  }
}

}  // namespace berth::oauth
