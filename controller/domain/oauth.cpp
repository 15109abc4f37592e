#include "controller/domain/oauth.h"

#include <algorithm>
#include <cctype>

#include "controller/base/crypto.h"
#include "controller/base/id.h"

namespace berth::oauth {
namespace {

constexpr size_t s256_challenge_length = 43;  // 32 bytes in base64url
constexpr size_t min_verifier_length = 43;    // RFC 7636, section 4.1
constexpr size_t max_verifier_length = 128;

bool is_unreserved(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
  });
}

bool verifies(const std::string& verifier, const std::string& challenge) {
  return verifier.size() >= min_verifier_length && verifier.size() <= max_verifier_length &&
         is_unreserved(verifier) && equal_in_constant_time(base64url(sha256(verifier)), challenge);
}

ScopeSet requested_scopes(const apps::App& app, const accounts::User& user,
                          const std::string& text) {
  const auto scopes = parse_scopes(text);
  if (!scopes) throw Error(Code::invalid_scope, "scope must hold one or more known scopes");
  const ScopeSet missing = *scopes - app.approved_scopes;
  if (!missing.empty())
    throw Error(Code::invalid_scope, "not approved for this app: " + missing.text());
  const ScopeSet owners = *scopes & ScopeSet::operators();
  if (!owners.empty() && app.owner_id != user.id)
    throw Error(Code::invalid_scope, "only the app's owner can grant: " + owners.text());
  return *scopes;
}

ScopeSet checked_scopes(const apps::App& app, const accounts::User& user,
                        const AuthorizationRequest& request) {
  if (app.suspended) throw Error(Code::unauthorized_client, "the app is suspended");
  if (request.response_type != "code")
    throw Error(Code::unsupported_response_type, "response_type must be code");
  if (request.code_challenge_method != "S256")
    throw Error(Code::invalid_request, "code_challenge_method must be S256: PKCE is required");
  if (request.code_challenge.size() != s256_challenge_length ||
      !is_unreserved(request.code_challenge))
    throw Error(Code::invalid_request,
                "code_challenge must be the base64url of a SHA-256: 43 characters");
  return requested_scopes(app, user, request.scope);
}

// The consent: the user's row for this app, with these scopes added.
std::string consent(db::Tx& tx, const std::string& app_id, const std::string& user_id,
                    const ScopeSet& scopes) {
  auto rows =
      tx.query("SELECT id, scopes, revoked_at FROM grants WHERE app_id = $1 AND user_id = $2",
               app_id, user_id);
  if (!rows.next()) {
    const std::string id = new_uuid(tx.now());
    tx.execute(
        "INSERT INTO grants (id, app_id, user_id, scopes, connected_at) VALUES ($1, $2, $3, $4, "
        "$5)",
        id, app_id, user_id, scopes.text(), tx.now());
    return id;
  }
  const bool was_revoked = !rows.null(2);
  const ScopeSet all = was_revoked ? scopes : scopes | stored_scopes(rows.text(1));
  tx.execute(
      "UPDATE grants SET scopes = $2, revoked_at = NULL, "
      "connected_at = CASE WHEN revoked_at IS NULL THEN connected_at ELSE $3 END WHERE id = $1",
      rows.text(0), all.text(), tx.now());
  return rows.text(0);
}

std::string new_access_token(db::Tx& tx, const std::string& family_id) {
  const std::string token = random_token("at_live_");
  tx.execute("INSERT INTO access_tokens (token_hash, family_id, expires_at) VALUES ($1, $2, $3)",
             token_hash(token), family_id, tx.now() + access_token_lifetime);
  return token;
}

std::string new_refresh_token(db::Tx& tx, const std::string& family_id, Instant family_end) {
  const std::string token = random_token("rt_live_");
  tx.execute("INSERT INTO refresh_tokens (token_hash, family_id, expires_at) VALUES ($1, $2, $3)",
             token_hash(token), family_id, std::min(tx.now() + refresh_token_lifetime, family_end));
  return token;
}

void revoke_family(db::Tx& tx, const std::string& family_id) {
  tx.execute("UPDATE token_families SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
             family_id, tx.now());
}

Error bad_code(const char* why) { return Error(Code::invalid_grant, why); }
Error bad_refresh(const char* why) { return Error(Code::consumed_refresh_token, why); }

}  // namespace

apps::App asking_app(db::Tx& tx, const AuthorizationRequest& request) {
  auto app = apps::find_by_client_id(tx, request.client_id);
  if (!app) throw Error(Code::invalid_request, "client_id is unknown");
  if (!apps::is_registered(*app, request.redirect_uri))
    throw Error(Code::invalid_request, "redirect_uri is none that the app has registered");
  return std::move(*app);
}

std::expected<ScopeSet, Error> asked_scopes(const apps::App& app, const accounts::User& user,
                                            const AuthorizationRequest& request) {
  try {
    return checked_scopes(app, user, request);
  } catch (const Error& error) {
    return std::unexpected(error);
  }
}

AuthorizationCode authorize(db::Tx& tx, const accounts::User& user,
                            const AuthorizationRequest& request) {
  const apps::App app = asking_app(tx, request);
  const ScopeSet scopes = checked_scopes(app, user, request);
  const std::string grant_id = consent(tx, app.id, user.id, scopes);
  const std::string code = random_token("ac_live_");
  tx.execute(
      "INSERT INTO authorization_codes (code_hash, grant_id, redirect_uri, scopes, code_challenge, "
      "expires_at) "
      "VALUES ($1, $2, $3, $4, $5, $6)",
      token_hash(code), grant_id, request.redirect_uri, scopes.text(), request.code_challenge,
      tx.now() + code_lifetime);
  return {.code = code, .redirect_uri = request.redirect_uri};
}

Answer exchange_code(db::Tx& tx, const apps::App& client, const std::string& code,
                     const std::string& redirect_uri, const std::string& code_verifier,
                     const Policy& policy) {
  const std::string hash = token_hash(code);
  auto rows = tx.query(
      "SELECT c.grant_id, c.redirect_uri, c.scopes, c.code_challenge, c.expires_at, c.used_at, "
      "c.family_id, "
      "g.user_id, g.app_id, g.revoked_at, u.suspended_at "
      "FROM authorization_codes c JOIN grants g ON g.id = c.grant_id JOIN users u ON u.id = "
      "g.user_id "
      "WHERE c.code_hash = $1",
      hash);
  if (!rows.next() || rows.text(8) != client.id)
    return std::unexpected(bad_code("the code is unknown"));
  if (!rows.null(5)) {
    if (const auto family = rows.text_or_null(6)) revoke_family(tx, *family);
    return std::unexpected(bad_code("the code was used before; what it gave is revoked"));
  }
  if (rows.instant(4) <= tx.now()) return std::unexpected(bad_code("the code has expired"));
  if (rows.text(1) != redirect_uri)
    return std::unexpected(bad_code("redirect_uri differs from the one authorized"));
  if (!verifies(code_verifier, rows.text(3)))
    return std::unexpected(bad_code("code_verifier doesn't match"));
  if (!rows.null(9)) return std::unexpected(bad_code("the user has disconnected the app"));
  if (!rows.null(10) || client.suspended)
    return std::unexpected(bad_code("the account or the app is suspended"));

  const std::string family = new_uuid(tx.now());
  const Instant family_end = tx.now() + policy.family_lifetime;
  tx.execute(
      "INSERT INTO token_families (id, grant_id, scopes, created_at, expires_at) VALUES ($1, $2, "
      "$3, $4, $5)",
      family, rows.text(0), rows.text(2), tx.now(), family_end);
  tx.execute("UPDATE authorization_codes SET used_at = $2, family_id = $3 WHERE code_hash = $1",
             hash, tx.now(), family);
  Tokens tokens = {.access_token = new_access_token(tx, family),
                   .refresh_token = new_refresh_token(tx, family, family_end),
                   .scopes = stored_scopes(rows.text(2)),
                   .user_id = rows.text(7),
                   .session_token = random_token("st_live_"),
                   .session_token_expires_at = tx.now() + session_token_lifetime};
  tx.execute("INSERT INTO session_tokens (token_hash, family_id, expires_at) VALUES ($1, $2, $3)",
             token_hash(*tokens.session_token), family, *tokens.session_token_expires_at);
  return tokens;
}

Answer refresh(db::Tx& tx, const std::optional<apps::App>& client, const std::string& refresh_token,
               const Policy& policy) {
  const std::string hash = token_hash(refresh_token);
  auto rows = tx.query(
      "SELECT r.family_id, r.expires_at, r.consumed_at, f.scopes, f.expires_at, f.revoked_at, "
      "g.user_id, g.app_id, "
      "g.revoked_at, u.suspended_at, a.suspended_at "
      "FROM refresh_tokens r JOIN token_families f ON f.id = r.family_id JOIN grants g ON g.id = "
      "f.grant_id "
      "JOIN users u ON u.id = g.user_id JOIN apps a ON a.id = g.app_id WHERE r.token_hash = $1",
      hash);
  if (!rows.next() || (client && rows.text(7) != client->id))
    return std::unexpected(bad_refresh("the refresh token is unknown"));
  const std::string family = rows.text(0);
  if (const auto consumed = rows.instant_or_null(2)) {
    // A client that lost the answer tries again within the grace; anybody later is a thief or was
    // robbed, and both lose the family.
    if (tx.now() - *consumed >= policy.refresh_reuse_grace) revoke_family(tx, family);
    return std::unexpected(bad_refresh("the refresh token was used before"));
  }
  if (!rows.null(5) || !rows.null(8))
    return std::unexpected(bad_refresh("the refresh token was revoked"));
  if (rows.instant(1) <= tx.now() || rows.instant(4) <= tx.now())
    return std::unexpected(bad_refresh("the refresh token has expired"));
  if (!rows.null(9) || !rows.null(10))
    return std::unexpected(bad_refresh("the account or the app is suspended"));
  tx.execute("UPDATE refresh_tokens SET consumed_at = $2 WHERE token_hash = $1", hash, tx.now());
  return Tokens{.access_token = new_access_token(tx, family),
                .refresh_token = new_refresh_token(tx, family, rows.instant(4)),
                .scopes = stored_scopes(rows.text(3)),
                .user_id = rows.text(6),
                .session_token = {},
                .session_token_expires_at = {}};
}

Caller check_access_token(db::Tx& tx, const std::string& token) {
  auto rows = tx.query(
      "SELECT t.expires_at, f.scopes, f.revoked_at, g.id, g.user_id, g.app_id, g.revoked_at, "
      "u.suspended_at, "
      "a.suspended_at, a.approved_scopes, a.owner_id, f.expires_at "
      "FROM access_tokens t JOIN token_families f ON f.id = t.family_id JOIN grants g ON g.id = "
      "f.grant_id "
      "JOIN users u ON u.id = g.user_id JOIN apps a ON a.id = g.app_id WHERE t.token_hash = $1",
      token_hash(token));
  if (!rows.next()) throw Error(Code::invalid_token, "the access token is unknown");
  if (!rows.null(2) || !rows.null(6))
    throw Error(Code::token_revoked, "the access token was revoked");
  // A family's end is absolute: tokens that it gave shortly before go with it.
  if (rows.instant(0) <= tx.now() || rows.instant(11) <= tx.now())
    throw Error(Code::token_expired, "the access token has expired; refresh it");
  if (!rows.null(7) || !rows.null(8))
    throw Error(Code::account_suspended, "the account or the app is suspended");
  ScopeSet scopes =
      stored_scopes(rows.text(1)) & (stored_scopes(rows.text(9)) | ScopeSet::automatic());
  if (rows.text(4) != rows.text(10)) scopes = scopes - ScopeSet::operators();
  return {.user_id = rows.text(4),
          .app_id = rows.text(5),
          .grant_id = rows.text(3),
          .scopes = scopes,
          .expires_at = std::min(rows.instant(0), rows.instant(11))};
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

}  // namespace berth::oauth
