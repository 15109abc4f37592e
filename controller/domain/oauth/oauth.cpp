// Grants: what an app gets for a user's consent or for its own secret.
#include "controller/domain/oauth/oauth.h"

#include <algorithm>
#include <cctype>

#include "controller/base/crypto.h"
#include "controller/base/id.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/oauth/token_rows.h"

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

// The user's consent to this app, if it isn't revoked. Tokens of a revoked consent stay revoked.
struct Grant {
  std::string id;
  ScopeSet scopes;
  std::string stored_scopes;  // as the row has them
};
Grant grant_of(db::Tx& tx, const std::string& app_id, const std::string& user_id) {
  auto rows = tx.query(R"(
      SELECT id, scopes, revoked_at
      FROM grants
      WHERE app_id = $1 AND user_id = $2)",
                       app_id, user_id);
  if (!rows.next()) {
    const std::string id = new_uuid(tx.now());
    tx.execute(R"(
        INSERT INTO grants (id, app_id, user_id, scopes, connected_at)
        VALUES ($1, $2, $3, '', $4))",
               id, app_id, user_id, tx.now());
    return {.id = id, .scopes = {}, .stored_scopes = {}};
  }
  const Grant grant = {.id = rows.text("id"),
                       .scopes = stored_scopes(rows.text("scopes")),
                       .stored_scopes = rows.text("scopes")};
  if (rows.null("revoked_at")) return grant;
  revoke_contents(tx, grant.id);
  tx.require_change(R"(
      UPDATE grants
      SET revoked_at = NULL, scopes = ''
      WHERE id = $1 AND revoked_at IS NOT NULL)",
                    grant.id);
  return {.id = grant.id, .scopes = {}, .stored_scopes = {}};
}

std::unexpected<Error> refused(Code code, const std::string& why) {
  return std::unexpected(Error(code, why));
}
// Whether the user has connected too many clients that aren't registered to connect this one, too.
std::optional<Error> refuse_another_unregistered(db::Tx& tx, const apps::App& app,
                                                 const std::string& user_id) {
  const bool is_connected = tx.number(R"(
      SELECT count(*)
      FROM grants
      WHERE app_id = $1 AND user_id = $2 AND revoked_at IS NULL)",
                                      app.id, user_id) > 0;
  if (is_connected ||
      tx.number(R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM grants g
            JOIN apps a ON a.id = g.app_id
            WHERE g.user_id = $1 AND g.revoked_at IS NULL AND a.unregistered_until IS NOT NULL
            LIMIT $2) others)",
                user_id, apps::max_unregistered_per_user) < apps::max_unregistered_per_user)
    return std::nullopt;
  return Error(Code::unauthorized_client,
               "the user has connected " + std::to_string(apps::max_unregistered_per_user) +
                   " programs that aren't registered here, and has to disconnect one first");
}

std::unexpected<Error> bad_code(const char* why) { return refused(Code::invalid_grant, why); }

}  // namespace

std::string consent(db::Tx& tx, const std::string& app_id, const std::string& user_id,
                    const ScopeSet& scopes) {
  const Grant grant = grant_of(tx, app_id, user_id);
  if (grant.scopes.empty())
    tx.execute(R"(UPDATE grants SET connected_at = $2 WHERE id = $1)", grant.id, tx.now());
  if (grant.scopes.empty() && !scopes.empty()) count_app_users(tx, app_id, 1);
  if (!scopes.within(grant.scopes))
    tx.require_change(R"(
        UPDATE grants
        SET scopes = $2
        WHERE id = $1 AND scopes = $3 AND revoked_at IS NULL)",
                      grant.id, (grant.scopes | scopes).text(), grant.stored_scopes);
  return grant.id;
}

apps::App asking_app(db::Tx& tx, const AuthorizationRequest& request) {
  std::optional<apps::App> app;
  if (!apps::is_client_url(request.client_id))
    app = apps::find_by_client_id(tx, request.client_id);
  else if (request.document)
    app = apps::unregistered_app(tx, *request.document);
  if (!app) throw Error(Code::invalid_request, "client_id is unknown");
  if (!apps::is_registered(*app, request.redirect_uri))
    throw Error(Code::invalid_request, "redirect_uri isn't registered for the app");
  return std::move(*app);
}

std::expected<ScopeSet, Error> asked_scopes(const apps::App& app, const accounts::User& user,
                                            const AuthorizationRequest& request) {
  if (app.suspended) return refused(Code::unauthorized_client, "the app is suspended");
  if (!request.repeated.empty())
    return refused(Code::invalid_request, request.repeated + " occurs more than once");
  if (request.response_type.empty())
    return refused(Code::invalid_request, "response_type is required");
  if (request.response_type != "code")
    return refused(Code::unsupported_response_type, "response_type must be code");
  if (!request.response_mode.empty() && request.response_mode != "query")
    return refused(Code::invalid_request, "response_mode must be query");
  if (request.code_challenge_method != "S256")
    return refused(Code::invalid_request, "code_challenge_method must be S256: PKCE is required");
  if (request.code_challenge.size() != s256_challenge_length ||
      !is_unreserved(request.code_challenge))
    return refused(Code::invalid_request,
                   "code_challenge must be the base64url of a SHA-256: 43 characters");
  if (auto wrong = openid::refuse_parameters(request)) return std::unexpected(*std::move(wrong));
  // A request without a scope gets the scopes that need no approval (RFC 6749, section 3.3).
  const bool asks = request.scope.find_first_not_of(' ') != std::string::npos;
  const ScopeSet fallback =
      app.unregistered ? ScopeSet{Scope::openid} : ScopeSet::automatic() & app.approved_scopes;
  const auto scopes = asks ? parse_scopes(request.scope) : std::optional(fallback);
  if (!scopes) return refused(Code::invalid_scope, why_no_scopes(request.scope));
  const ScopeSet missing = *scopes - app.approved_scopes.with_included() - ScopeSet::identity();
  if (!missing.empty())
    return refused(Code::invalid_scope,
                   "these scopes aren't approved for this app: " + missing.text());
  const ScopeSet owners = *scopes & ScopeSet::operators();
  if (!owners.empty() && app.owner_id != user.id && !app.built_in)
    return refused(Code::invalid_scope,
                   "only the app's owner can grant these scopes: " + owners.text());
  return *scopes;
}

namespace {

// Whether the user knows that the app, which takes session tokens, may get one: they see it now, or
// have seen it before.
bool offers_session(db::Tx& tx, const std::string& grant_id, const AuthorizationRequest& request) {
  if (openid::prompts(request, "none"))
    return tx.number(R"(SELECT session_offered FROM grants WHERE id = $1)", grant_id) == 1;
  tx.execute(R"(UPDATE grants SET session_offered = 1 WHERE id = $1 AND session_offered = 0)",
             grant_id);
  return true;
}

}  // namespace

std::expected<AuthorizationCode, Error> authorize(
    db::Tx& tx, const accounts::User& user, const AuthorizationRequest& request,
    const std::optional<play::SessionAccess>& session_access, const std::string& session_id) {
  apps::App app = asking_app(tx, request);
  const auto scopes = asked_scopes(app, user, request);
  if (!scopes) return std::unexpected(scopes.error());
  if (auto refusal = openid::refuse_silently(tx, app, user.id, session_id, request, *scopes))
    return std::unexpected(*std::move(refusal));
  if (app.unregistered) {
    if (auto refusal = refuse_another_unregistered(tx, app, user.id))
      return std::unexpected(*std::move(refusal));
    app = apps::store_unregistered(tx, *request.document);
  }
  const std::string grant_id = consent(tx, app.id, user.id, *scopes);
  const bool with_session = app.session_tokens && offers_session(tx, grant_id, request);
  if (session_access)
    tx.execute(R"(
        UPDATE grants
        SET session_access = $2
        WHERE id = $1)",
               grant_id, to_string(*session_access));
  const auto proven = scopes->has(Scope::openid) ? accounts::authenticated_at(tx, session_id)
                                                 : std::optional<Instant>();
  const auto with_login = [&](const std::string& text) {
    return proven && !text.empty() ? std::optional(text) : std::nullopt;
  };
  const std::string code = random_token("ac_live_");
  tx.execute(R"(
      INSERT INTO authorization_codes (code_hash, grant_id, redirect_uri, scopes, code_challenge,
                                       expires_at, with_session, nonce, session_id,
                                       authenticated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10))",
             token_hash(code), grant_id, request.redirect_uri, scopes->text(),
             request.code_challenge, tx.now() + code_lifetime, with_session,
             with_login(request.nonce), with_login(session_id), proven);
  return AuthorizationCode{.code = code, .redirect_uri = request.redirect_uri};
}

Answer exchange_code(db::Tx& tx, const apps::App& client, const std::string& code,
                     const std::string& redirect_uri, const std::string& code_verifier,
                     const Policy& policy) {
  const std::string hash = token_hash(code);
  auto rows = tx.query(R"(
      SELECT c.grant_id, c.redirect_uri, c.scopes, c.code_challenge, c.expires_at, c.used_at,
             c.family_id, g.user_id, g.app_id, g.revoked_at, u.suspended_at, c.with_session,
             c.nonce, c.session_id, c.authenticated_at
      FROM authorization_codes c
      JOIN grants g ON g.id = c.grant_id
      JOIN users u ON u.id = g.user_id
      WHERE c.code_hash = $1)",
                       hash);
  if (!rows.next() || rows.text("app_id") != client.id) return bad_code("the code is unknown");
  if (!rows.null("used_at")) {
    if (const auto family = rows.text_or_null("family_id"))
      end_reused_family(tx, *family,
                        {.kind = "authorization_code",
                         .app_id = client.id,
                         .user_id = rows.text("user_id"),
                         .by_client = true});
    auto refusal = bad_code("the code was used before; everything that it gave was revoked");
    refusal.error().event = {.kind = SecurityKind::authorization_code_reused,
                             .reason = "family_revoked",
                             .user_id = rows.text("user_id")};
    return refusal;
  }
  if (rows.instant("expires_at") <= tx.now()) return bad_code("the code has expired");
  if (rows.text("redirect_uri") != redirect_uri)
    return bad_code("redirect_uri differs from the one authorized");
  if (!verifies(code_verifier, rows.text("code_challenge")))
    return bad_code("code_verifier doesn't match");
  if (!rows.null("revoked_at")) return bad_code("the user has disconnected the app");
  if (!rows.null("suspended_at") || client.suspended)
    return bad_code("the account or the app is suspended");
  const std::string user_id = rows.text("user_id");
  const bool with_session = rows.flag("with_session");
  const ScopeSet consented = stored_scopes(rows.text("scopes"));
  const ScopeSet scopes =
      usable(consented, client.approved_scopes, user_id == client.owner_id || client.built_in);
  if (scopes.empty()) return bad_code("the app has lost the scopes of this code");

  std::optional<openid::Login> login = login_of(rows);
  // Whoever has logged out meanwhile would stay logged in to the app, which is never told.
  if (login && !accounts::authenticated_at(tx, login->session_id))
    return bad_code("the user has logged out");
  if (login) login->nonce = rows.text_or_null("nonce").value_or("");
  const Family family =
      open_family(tx, rows.text("grant_id"), consented, policy.family_lifetime, login);
  tx.require_change(R"(
      UPDATE authorization_codes
      SET used_at = $2, family_id = $3, nonce = NULL
      WHERE code_hash = $1 AND used_at IS NULL)",
                    hash, tx.now(), family.id);
  Tokens tokens = add_tokens(tx, family, scopes, user_id);
  tokens.first_party = client.built_in;
  if (scopes.has(Scope::openid)) tokens.login = std::move(login);
  // The user only consented to a session token if the app took session tokens at that time, too.
  if (with_session && client.session_tokens) {
    const play::Token session = play::start(tx, family.id, family.end);
    tokens.session_token = session.token;
    tokens.session_token_expires_at = session.expires_at;
  }
  return tokens;
}

Tokens client_credentials(db::Tx& tx, const apps::App& client,
                          const std::optional<std::string>& scope) {
  if (client.is_public)
    throw Error(Code::unauthorized_client,
                "a public client can't prove who it is, so it gets no tokens of its own");
  const auto owner = accounts::find(tx, client.owner_id);
  if (client.suspended || !owner || owner->suspended)
    throw Error(Code::unauthorized_client, "the account or the app is suspended");
  const Grant grant = grant_of(tx, client.id, client.owner_id);
  // The client secret stands for the app and not for its owner's points: somebody who reads it on a
  // game's server must not be able to spend them.
  static const ScopeSet moves_points = {Scope::points_spend, Scope::points_transfer,
                                        Scope::points_award};
  // Nobody logs in with it, so it says nothing about a person either.
  const ScopeSet available =
      client.approved_scopes - (moves_points - grant.scopes) - ScopeSet::identity();
  const auto asked = scope ? parse_scopes(*scope) : std::optional(available);
  if (!asked) throw Error(Code::invalid_scope, why_no_scopes(*scope));
  if (const ScopeSet missing = *asked - available.with_included(); !missing.empty())
    throw Error(
        Code::invalid_scope,
        "these scopes aren't approved for this app, or its owner hasn't consented to them: " +
            missing.text());
  const Family family = open_family(tx, grant.id, *asked, access_token_lifetime);
  return {.access_token = add_access_token(tx, family.id, family.end),
          .access_token_expires_at = family.end,
          .refresh_token = {},
          .scopes = *asked,
          .user_id = client.owner_id,
          .session_token = {},
          .session_token_expires_at = {},
          .family_id = family.id};
}

}  // namespace berth::oauth
