// ID tokens of CI jobs are exchanged for access tokens (RFC 8693).
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/oauth/token_rows.h"
#include "controller/domain/oauth/trust_rows.h"
#include "controller/domain/oauth/trusts.h"

namespace berth::oauth {
namespace {

using nlohmann::json;

constexpr std::size_t max_id_length = 256;   // of a `jti`
constexpr std::size_t audited_length = 256;  // of a claim in the audit log
constexpr std::size_t audited_claims = 24;   // the trust's and those below
// What the audit log says of a job, besides the claims that the trust names.
constexpr std::array<std::string_view, 12> claims_of_job = {
    "sub",   "jti",          "repository",  "ref",    "workflow",   "run_id",
    "actor", "project_path", "pipeline_id", "job_id", "user_login", "environment"};

// The kinds of subject_token, as the security log calls them.
constexpr std::string_view of_job = "id_token";
constexpr std::string_view of_container = "container_token";

// `reason` is for the security log: one of berth's own words.
[[noreturn]] void refuse(std::string_view reason, const std::string& why,
                         std::string_view kind = of_job) {
  throw with_event(Error(Code::invalid_request, why),
                   {.kind = SecurityKind::token_rejected, .reason = reason, .token_kind = kind});
}
[[noreturn]] void refuse_untrusted(std::string_view kind) {
  refuse("no_trust", "no trust of the app accepts the subject_token", kind);
}

std::string text_in(const json& claims, const char* name) {
  const auto found = claims.find(name);
  return found != claims.end() && found->is_string() ? found->get<std::string>() : "";
}

// A NumericDate (RFC 7519, section 2), which may have a fraction; nothing if the claim isn't there.
std::optional<Instant> time_in(const json& claims, const char* name) {
  constexpr double latest = 100'000'000'000;  // in the year 5138
  const auto found = claims.find(name);
  if (found == claims.end()) return std::nullopt;
  const double seconds = found->is_number() ? found->get<double>() : -1;
  if (!(seconds >= 0 && seconds < latest))
    refuse("malformed", std::string("the claim ") + name + " of the subject_token is no time");
  return Instant(Duration(std::int64_t(std::floor(seconds * 1000))));
}

Instant required_time(const json& claims, const char* name) {
  const auto time = time_in(claims, name);
  if (!time) refuse("malformed", std::string("the subject_token has no claim ") + name);
  return *time;
}

bool has_audience(const json& claims, const std::string& audience) {
  const auto found = claims.find("aud");
  if (found == claims.end()) return false;
  if (found->is_string()) return *found == audience;
  return found->is_array() && std::ranges::find(*found, json(audience)) != found->end();
}

apps::App app_of(db::Tx& tx, const std::string& client_id) {
  auto app = apps::find_by_client_id(tx, client_id);
  if (!app || app->built_in)
    throw Error(Code::invalid_target, "audience must be the client_id of an app");
  if (app->suspended) throw Error(Code::unauthorized_client, "the account or the app is suspended");
  return *std::move(app);
}

// The oldest trust that accepts the token and has the scopes.
struct Chosen {
  Trust trust;
  ScopeSet scopes;
};
Chosen choose(db::Tx& tx, const apps::App& app, const std::function<bool(const Trust&)>& accepts,
              const std::optional<std::string>& scope, std::string_view kind) {
  const auto asked = scope ? parse_scopes(*scope) : std::nullopt;
  if (scope && !asked) throw Error(Code::invalid_scope, why_no_scopes(*scope));
  bool is_trusted = false;
  for (Trust& trust : trusts(tx, app.id)) {
    if (!accepts(trust)) continue;
    is_trusted = true;
    const ScopeSet available = trust.scopes.cut_to(app.approved_scopes);
    if (available.empty() || (asked && !asked->within(available.with_included()))) continue;
    return {.trust = std::move(trust), .scopes = asked.value_or(available)};
  }
  if (!is_trusted) refuse_untrusted(kind);
  throw Error(Code::invalid_scope, "no trust that accepts the subject_token has these scopes");
}

void require_few_tokens(db::Tx& tx, const std::string& trust_id) {
  if (tx.number(R"(
      SELECT count(*)
      FROM token_families
      WHERE trust_id = $1 AND expires_at > $2)",
                trust_id, tx.now()) < max_living_tokens)
    return;
  Error refusal(Code::rate_limited, "the trust has given " + std::to_string(max_living_tokens) +
                                        " access tokens that haven't expired; try again later");
  refusal.retry_after = std::chrono::seconds(60);
  throw refusal;
}

[[noreturn]] void refuse_replayed() {
  refuse("replayed", "the subject_token was exchanged before; each one works once");
}

std::string hash_of_id(const VerifiedToken& token) {
  return token_hash(json{token.issuer, token.id}.dump());
}

// An id is used up even if the access token is revoked or expires.
void use_up(db::Tx& tx, const VerifiedToken& token) {
  const int added = tx.execute(R"(
      INSERT INTO used_id_tokens (token_hash, expires_at)
      VALUES ($1, $2)
      ON CONFLICT DO NOTHING)",
                               hash_of_id(token), token.accepted_to);
  if (added == 0) refuse_replayed();
}

// What the ID token says of its job.
json claims_to_record(const Chosen& chosen, const VerifiedToken& token) {
  json said = json::object();
  const auto note = [&](const std::string& name) {
    const auto found = token.claims.find(name);
    if (said.size() >= audited_claims || said.contains(name) || found == token.claims.end()) return;
    if (!found->is_primitive()) return;
    const std::string text = found->is_string() ? found->get<std::string>() : found->dump();
    said[name] = cut(without_controls(text), audited_length);
  };
  for (const std::string_view name : claims_of_job) note(std::string(name));
  for (const auto& [name, texts] : chosen.trust.claims) note(name);
  return said;
}

apps::App require_acting(db::Tx& tx, apps::App app) {
  const auto owner = accounts::find(tx, app.owner_id);
  if (app.suspended || !owner || owner->suspended)
    throw Error(Code::unauthorized_client, "the account or the app is suspended");
  return app;
}

// Gives the access token, for these deployments of the app (none: all).
Tokens give(db::Tx& tx, const apps::App& app, const Chosen& chosen,
            const std::vector<std::string>& deployments, json claims) {
  // Fails if somebody removes the trust at the same time, whose tokens have to end.
  tx.require_change(R"(
      UPDATE app_trusts
      SET last_used_at = $2
      WHERE id = $1)",
                    chosen.trust.id, tx.now());
  const std::string grant_id = consent(tx, app.id, app.owner_id, {});
  const Family family = open_family(tx, grant_id, chosen.scopes, trusted_token_lifetime);
  tx.require_change(R"(
      UPDATE token_families
      SET trust_id = $2, deployments = $3
      WHERE id = $1)",
                    family.id, chosen.trust.id, stored_deployments(deployments));
  audit::record(tx, "trust:" + chosen.trust.id, "trust.use", app.id,
                json{{"issuer", chosen.trust.issuer},
                     {"trust", chosen.trust.name},
                     {"scopes", chosen.scopes.text()},
                     {"claims", std::move(claims)}}
                    .dump(),
                app.id);
  return {.access_token = add_access_token(tx, family.id, family.end),
          .access_token_expires_at = family.end,
          .refresh_token = {},
          .scopes = chosen.scopes,
          .user_id = app.owner_id,
          .session_token = {},
          .session_token_expires_at = {},
          .family_id = family.id};
}

bool accepts(const Trust& trust, const VerifiedToken& token) {
  return trust.issuer == token.issuer && has_audience(token.claims, trust.audience) &&
         has_claims(trust, token.claims);
}

bool is_for(const Trust& trust, const Container& container) {
  return trust.issuer == containers_issuer &&
         (trust.deployments.empty() ||
          std::ranges::find(trust.deployments, container.deployment_id) != trust.deployments.end());
}

apps::App app_of(db::Tx& tx, const Container& container) {
  auto app = apps::find(tx, container.app_id);
  if (!app) refuse_untrusted(of_container);
  return require_acting(tx, *std::move(app));
}

}  // namespace

ShownToken read_id_token(db::Tx& tx, const std::string& client_id, std::string_view text) {
  auto token = jwk::parse(text);
  if (!token)
    refuse("malformed",
           "the subject_token isn't a JWT that is signed with RS256, ES256 or EdDSA and names its "
           "key (kid)");
  const apps::App app = app_of(tx, client_id);
  const std::string name = text_in(token->claims, "iss");
  // PostgreSQL takes no NUL, which JSON may contain.
  const auto issuer = has_controls(name, Lines::one) ? std::nullopt : find_issuer(tx, name);
  if (!issuer)
    refuse("unknown_issuer", "the issuer of the subject_token isn't listed by the platform");
  // Before anything is fetched.
  if (tx.number(R"(SELECT count(*) FROM app_trusts WHERE app_id = $1 AND issuer = $2)", app.id,
                issuer->issuer) == 0)
    refuse("no_trust", "the app trusts no token of this issuer");
  return {.client_id = client_id, .issuer = *issuer, .token = *std::move(token)};
}

VerifiedToken verify_id_token(const ShownToken& shown, const std::optional<jwk::Key>& key,
                              Instant now) {
  const jwk::Token& token = shown.token;
  if (!key || key->id != token.key_id)
    refuse("unknown_key", "the issuer has no key with the kid of the subject_token");
  if (!jwk::verifies(*key, token))
    refuse("wrong_signature", "the signature of the subject_token is wrong");
  const json& claims = token.claims;
  const Instant expires_at = required_time(claims, "exp");
  const Instant issued_at = required_time(claims, "iat");
  const auto not_before = time_in(claims, "nbf");
  if (issued_at > now + clock_skew || (not_before && *not_before > now + clock_skew))
    refuse("not_yet_valid", "the subject_token isn't valid yet");
  const Instant accepted_to = std::min(expires_at, issued_at + id_token_accepted_for) + clock_skew;
  if (accepted_to <= now) refuse("expired", "the subject_token has expired");
  const std::string id = text_in(claims, "jti");
  if (id.empty() || id.size() > max_id_length)
    refuse("malformed",
           "the subject_token has no jti of at most " + std::to_string(max_id_length) + " bytes");
  return {.client_id = shown.client_id,
          .issuer = shown.issuer.issuer,
          .kind = shown.issuer.kind,
          .claims = claims,
          .id = id,
          .accepted_to = accepted_to};
}

apps::App require_trust(db::Tx& tx, const VerifiedToken& token) {
  apps::App app = require_acting(tx, app_of(tx, token.client_id));
  const auto all = trusts(tx, app.id);
  if (std::ranges::none_of(all, [&](const Trust& trust) { return accepts(trust, token); }))
    refuse_untrusted(of_job);
  if (tx.number(R"(SELECT count(*) FROM used_id_tokens WHERE token_hash = $1)", hash_of_id(token)) >
      0)
    refuse_replayed();
  return app;
}

Tokens exchange_id_token(db::Tx& tx, const VerifiedToken& token,
                         const std::optional<std::string>& scope) {
  tx.require_serializable();
  const apps::App app = require_acting(tx, app_of(tx, token.client_id));
  if (!find_issuer(tx, token.issuer))
    refuse("unknown_issuer", "the issuer of the subject_token isn't listed by the platform");
  const Chosen chosen = choose(
      tx, app, [&](const Trust& trust) { return accepts(trust, token); }, scope, of_job);
  require_few_tokens(tx, chosen.trust.id);
  use_up(tx, token);
  return give(tx, app, chosen, chosen.trust.deployments, claims_to_record(chosen, token));
}

void require_container_trust(db::Tx& tx, const Container& container) {
  const apps::App app = app_of(tx, container);
  const auto all = trusts(tx, app.id);
  if (std::ranges::none_of(all, [&](const Trust& trust) { return is_for(trust, container); }))
    refuse_untrusted(of_container);
}

Tokens exchange_container_token(db::Tx& tx, const Container& container,
                                const std::optional<std::string>& scope) {
  tx.require_serializable();
  const apps::App app = app_of(tx, container);
  const Chosen chosen = choose(
      tx, app, [&](const Trust& trust) { return is_for(trust, container); }, scope, of_container);
  require_few_tokens(tx, chosen.trust.id);
  return give(tx, app, chosen, {container.deployment_id},
              {{"deployment", container.deployment_id}});
}

bool is_any_used_id_old(db::Tx& tx) {
  return tx.number(R"(SELECT 1 FROM used_id_tokens WHERE expires_at <= $1 LIMIT 1)", tx.now()) > 0;
}

int remove_used_ids(db::Tx& tx, int limit) {
  return tx.execute(R"(
      DELETE FROM used_id_tokens
      WHERE token_hash IN (SELECT token_hash
                           FROM used_id_tokens
                           WHERE expires_at <= $1
                           LIMIT $2))",
                    tx.now(), limit);
}

}  // namespace berth::oauth
