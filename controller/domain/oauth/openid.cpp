#include "controller/domain/oauth/openid.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "controller/base/crypto.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/oauth/oauth.h"
#include "controller/domain/oauth/openid_keys.h"

namespace berth::openid {
namespace {

using nlohmann::json;

std::int64_t in_seconds(Instant at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return is_number ? std::optional(number) : std::nullopt;
}

std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Half of a hash of the access token, by the algorithm that the signature uses (section 3.1.3.6;
// Ed25519 uses SHA-512: RFC 8032, section 5.1).
std::string access_token_hash(const std::string& token, apps::IdTokenAlg alg) {
  const std::string hash = alg == apps::IdTokenAlg::rs256 ? sha256(token) : sha512(token);
  return base64url(hash.substr(0, hash.size() / 2));
}

// What the user has consented to for the app; empty if they haven't.
ScopeSet consented(db::Tx& tx, const std::string& app_id, const std::string& user_id) {
  auto rows = tx.query(R"(
      SELECT scopes
      FROM grants
      WHERE app_id = $1 AND user_id = $2 AND revoked_at IS NULL)",
                       app_id, user_id);
  return rows.next() ? stored_scopes(rows.text("scopes")) : ScopeSet();
}

// Whether nobody else can pose as the app: it has a secret, or its redirect URI belongs to it. The
// domain of a client that isn't registered may have got another owner since the user was asked.
bool can_be_told_apart(const apps::App& app, const std::string& redirect_uri) {
  return !app.unregistered && (!app.is_public || redirect_uri.starts_with("https://"));
}

}  // namespace

bool prompts(const oauth::AuthorizationRequest& request, std::string_view value) {
  const auto words = words_in(request.prompt);
  return std::ranges::find(words, value) != words.end();
}

std::optional<Error> refuse_parameters(const oauth::AuthorizationRequest& request) {
  if (request.has_request_object)
    return Error(Code::request_not_supported, "the parameter request isn't supported");
  if (request.has_request_uri)
    return Error(Code::request_uri_not_supported, "the parameter request_uri isn't supported");
  if (request.nonce.size() > max_nonce_length)
    return Error(Code::invalid_request, "nonce must have at most 255 bytes");
  if (prompts(request, "none") && words_in(request.prompt).size() > 1)
    return Error(Code::invalid_request, "prompt=none can't be combined with other values");
  if (!request.max_age.empty() && !number_in(request.max_age))
    return Error(Code::invalid_request, "max_age must be a number of seconds");
  if (!request.authenticated_since.empty() && !number_in(request.authenticated_since))
    return Error(Code::invalid_request, "authenticated_since must be a time in milliseconds");
  return std::nullopt;
}

std::optional<Instant> login_needed_since(const oauth::AuthorizationRequest& request, Instant now) {
  std::optional<Instant> since;
  const auto at_least = [&](Instant at) { since = since ? std::max(*since, at) : at; };
  if (prompts(request, "login") || prompts(request, "select_account")) at_least(now);
  if (const auto age = number_in(request.max_age)) {
    // A number that is too large for a time is longer ago than anything.
    const auto longest = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
    at_least(now - std::min(std::chrono::seconds(std::min(*age, longest.count())), longest));
  }
  if (const auto millis = number_in(request.authenticated_since))
    at_least(std::min(from_millis(std::min(*millis, to_millis(now))), now));
  return since;
}

std::optional<Error> refuse_silently(db::Tx& tx, const apps::App& app, const std::string& user_id,
                                     const std::string& session_id,
                                     const oauth::AuthorizationRequest& request,
                                     const ScopeSet& scopes) {
  if (const auto since = login_needed_since(request, tx.now())) {
    const auto proven = accounts::authenticated_at(tx, session_id);
    if (!proven || *proven < *since)
      return Error(Code::login_required, "the user logged in longer ago than the app accepts");
  }
  if (!prompts(request, "none")) return std::nullopt;
  if (!scopes.within(consented(tx, app.id, user_id)))
    return Error(Code::consent_required, "the user hasn't allowed the app all that it asks for");
  // Another program on the device could ask in the app's name (RFC 8252, section 8.6).
  if (!can_be_told_apart(app, request.redirect_uri))
    return Error(Code::interaction_required,
                 "the user is always asked for an app that isn't registered, or that has no secret "
                 "and isn't at https");
  return std::nullopt;
}

json claims_about(db::Tx& tx, const accounts::User& user, const ScopeSet& scopes) {
  json claims = {{"sub", user.id}};
  if (scopes.has(Scope::profile)) {
    claims["preferred_username"] = user.username;
    claims["name"] = user.username;
    claims["updated_at"] = in_seconds(accounts::updated_at(tx, user.id).value_or(user.created_at));
  }
  if (scopes.has(Scope::email)) {
    claims["email"] = user.email;
    claims["email_verified"] = user.email_verified;
  }
  return claims;
}

std::string session_name(std::string_view session_id, std::string_view client_id) {
  std::string text = "berth: the name of a session for a client\n";
  text.append(client_id).append("\n").append(session_id);
  return base64url(sha256(text));
}

std::string id_token(db::Tx& tx, const oauth::Tokens& tokens, const Issuer& issuer) {
  const auto user = accounts::find(tx, tokens.user_id);
  const auto client = apps::find(tx, tokens.login->app_id);
  if (!user || !client) throw Error(Code::invalid_grant, "the account or the app was deleted");
  const SigningKeys keys = signing_keys_or_new(tx, issuer.data_key);
  const apps::IdTokenAlg alg = apps::openid_settings(tx, client->id).id_token_alg;
  json claims = claims_about(tx, *user, tokens.scopes);
  claims["iss"] = issuer.url;
  claims["aud"] = client->client_id;
  claims["iat"] = in_seconds(tx.now());
  claims["exp"] = in_seconds(tx.now() + id_token_lifetime);
  claims["auth_time"] = in_seconds(tokens.login->authenticated_at);
  claims["at_hash"] = access_token_hash(tokens.access_token, alg);
  claims["sid"] = session_name(tokens.login->session_id, client->client_id);
  if (!tokens.login->nonce.empty()) claims["nonce"] = tokens.login->nonce;
  return sign(keys, alg, id_token_type, claims);
}

std::optional<Hint> read_hint(db::Tx& tx, std::string_view text, const Issuer& issuer) {
  const auto keys = signing_keys(tx, issuer.data_key);
  const auto claims = keys ? verified(*keys, id_token_type, text, tx.now()) : std::nullopt;
  if (!claims || claims->value("iss", "") != issuer.url) return std::nullopt;
  return Hint{.client_id = claims->value("aud", ""),
              .user_id = claims->value("sub", ""),
              .session_name = claims->value("sid", "")};
}

}  // namespace berth::openid
