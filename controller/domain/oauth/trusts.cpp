// Trusts of apps in CI services: which there are, and what may be trusted.
#include "controller/domain/oauth/trusts.h"

#include <algorithm>
#include <array>
#include <set>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/visible_text.h"
#include "controller/domain/oauth/trust_rows.h"

namespace berth::oauth {
namespace {

using nlohmann::json;

// Claims that have fields of their own, or that no trust can fix.
constexpr std::array<std::string_view, 6> own_fields = {"iss", "aud", "exp", "nbf", "iat", "jti"};

// What berth knows of the tokens of a kind of issuer.
struct ClaimsOfKind {
  // Ids of a project, or of an owner of projects, that are never given to another one.
  std::vector<std::string_view> project_ids;
  std::vector<std::string_view> owner_ids;
  // Names, which can be given up and registered by somebody else.
  std::vector<std::string_view> names;
  // What says which jobs of a project are meant.
  std::vector<std::string_view> of_job;
};
const ClaimsOfKind& claims_of(IssuerKind kind) {
  // https://docs.github.com/en/actions/reference/security/oidc
  static const ClaimsOfKind github = {
      .project_ids = {"repository_id"},
      .owner_ids = {"repository_owner_id"},
      .names = {"repository", "repository_owner", "sub", "workflow", "actor"},
      .of_job = {"environment", "ref", "ref_protected", "event_name", "sub", "job_workflow_ref",
                 "workflow_ref", "workflow_sha", "job_workflow_sha", "sha", "actor_id"}};
  // https://docs.gitlab.com/ci/secrets/id_token_authentication
  static const ClaimsOfKind gitlab = {
      .project_ids = {"project_id"},
      .owner_ids = {"namespace_id"},
      .names = {"project_path", "namespace_path", "sub", "user_login"},
      .of_job = {"environment", "environment_protected", "deployment_tier", "ref", "ref_path",
                 "ref_protected", "sub", "pipeline_source", "user_id", "ci_config_ref_uri"}};
  // Nothing is known of others but that they never give a subject to another one (OpenID Connect
  // Core 1.0, section 2).
  static const ClaimsOfKind other = {
      .project_ids = {"sub"}, .owner_ids = {}, .names = {}, .of_job = {"sub"}};
  switch (kind) {
    case IssuerKind::github:
      return github;
    case IssuerKind::gitlab:
      return gitlab;
    case IssuerKind::other:
      break;
  }
  return other;
}

bool has_any(const ClaimTexts& claims, const std::vector<std::string_view>& names) {
  return std::ranges::any_of(
      names, [&](std::string_view name) { return claims.contains(std::string(name)); });
}

bool is_one_of(std::string_view name, const std::vector<std::string_view>& names) {
  return std::ranges::find(names, name) != names.end();
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : " or ").append(name);
  return text;
}

bool is_wildcard(const std::string& text) { return text.ends_with('*'); }

void check_claim_name(const std::string& name) {
  const bool is_plain =
      !name.empty() && name.size() <= max_claim_name_length &&
      std::ranges::all_of(name, [](unsigned char c) {
        return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == ':' || c == '/';
      });
  if (!is_plain)
    throw invalid_field("claims", "has a name that isn't 1 to " +
                                      std::to_string(max_claim_name_length) +
                                      " letters, digits and _-.:/");
  if (std::ranges::find(own_fields, name) != own_fields.end())
    throw invalid_field("claims." + name, "can't be chosen: berth checks it in any case");
}

void check_texts(const std::string& name, const std::vector<std::string>& texts) {
  const std::string field = "claims." + name;
  if (texts.empty() || texts.size() > max_texts_of_claim)
    throw invalid_field(field, "must have 1 to " + std::to_string(max_texts_of_claim) + " texts");
  for (const std::string& text : texts)
    if (text.empty() || text.size() > max_claim_text_length || has_controls(text, Lines::one))
      throw invalid_field(field, "must have texts of 1 to " +
                                     std::to_string(max_claim_text_length) +
                                     " bytes without control characters");
}

// A * elsewhere than at the end of a text, or in a claim that must be exact, would be taken for a
// wildcard by whoever reads the trust, and isn't one.
void check_wildcards(const std::string& name, const std::vector<std::string>& texts, bool is_exact,
                     bool allows_wildcards) {
  const std::string field = "claims." + name;
  for (const std::string& text : texts) {
    const std::size_t star = text.find('*');
    if (star == std::string::npos) continue;
    if (is_exact) throw invalid_field(field, "must be exact, so it can't have a *");
    if (!allows_wildcards)
      throw invalid_field(field,
                          "has a *, which stands for anything only with allow_wildcards: true");
    if (star + 1 != text.size() || text.size() == 1)
      throw invalid_field(field, "may have one *, at its end, after something else");
  }
}

void check_claims(const TrustOrder& order, IssuerKind kind) {
  if (order.claims.empty() || order.claims.size() > max_claims)
    throw invalid_field("claims", "must name 1 to " + std::to_string(max_claims) + " claims");
  const ClaimsOfKind& known = claims_of(kind);
  for (const auto& [name, texts] : order.claims) {
    check_claim_name(name);
    check_texts(name, texts);
    const bool is_exact = is_one_of(name, known.project_ids) || is_one_of(name, known.owner_ids);
    check_wildcards(name, texts, is_exact, order.allow_wildcards);
  }
  if (has_any(order.claims, known.project_ids) || has_any(order.claims, known.owner_ids)) return;
  if (kind == IssuerKind::other)
    throw invalid_field("claims", "must name sub: which of the issuer's tokens are trusted");
  std::vector<std::string_view> ids = known.project_ids;
  ids.insert(ids.end(), known.owner_ids.begin(), known.owner_ids.end());
  throw invalid_field("claims",
                      "must name " + listed(ids) +
                          ", an id that stays: names can be given up or renamed, and whoever "
                          "registers such a name would then be trusted");
}

std::vector<std::string> warnings_of(const TrustOrder& order, IssuerKind kind) {
  std::vector<std::string> warnings;
  const ClaimsOfKind& known = claims_of(kind);
  for (const auto& [name, texts] : order.claims)
    for (const std::string& text : texts)
      if (is_wildcard(text))
        warnings.push_back("claims." + name + ": any text that begins with " +
                           text.substr(0, text.size() - 1) +
                           " is accepted, also one that somebody makes later");
  if (!has_any(order.claims, known.project_ids))
    warnings.push_back("every project of the owner is trusted, also new ones; name " +
                       listed(known.project_ids) + " to trust only one");
  if (!has_any(order.claims, known.of_job))
    warnings.push_back(
        "every job on every branch is trusted; name environment or ref to trust only some");
  for (const auto& [name, texts] : order.claims)
    if (is_one_of(name, known.names))
      warnings.push_back("claims." + name +
                         " is a name or contains one: once it changes, no token is accepted");
  return warnings;
}

ScopeSet checked_scopes(const apps::App& app, const std::vector<std::string>& names) {
  const auto scopes = parse_scopes(names);
  if (!scopes || scopes->empty()) throw invalid_field("scopes", "must name scopes that exist");
  static const ScopeSet moves_points = {Scope::points_spend, Scope::points_transfer,
                                        Scope::points_award};
  if (const ScopeSet refused = *scopes & moves_points; !refused.empty())
    throw invalid_field("scopes", "can't have what moves points: " + refused.text());
  if (const ScopeSet missing = *scopes - app.approved_scopes.with_included(); !missing.empty())
    throw invalid_field("scopes", "has scopes that the app isn't approved for: " + missing.text());
  return *scopes;
}

void check_texts_of(const TrustOrder& order) {
  if (order.audience.empty() || order.audience.size() > max_claim_text_length ||
      has_controls(order.audience, Lines::one))
    throw invalid_field("audience", "must be 1 to " + std::to_string(max_claim_text_length) +
                                        " bytes without control characters");
  if (const auto why = refusal_of_text(order.name, Lines::one))
    throw invalid_field("name", std::string(*why));
  if (order.deployments.size() > max_trusted_deployments)
    throw invalid_field("deployments",
                        "may name at most " + std::to_string(max_trusted_deployments));
}

// The text by which a claim is compared; nothing if it isn't a single value.
std::optional<std::string> text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean() || value.is_number_integer()) return value.dump();
  return std::nullopt;
}

}  // namespace

Trust trust_of(const db::Query& row) {
  const auto deployments = row.text_or_null("deployments");
  return {.id = row.text("id"),
          .app_id = row.text("app_id"),
          .name = row.text("name"),
          .issuer = row.text("issuer"),
          .audience = row.text("audience"),
          .claims = json::parse(row.text("claims")).get<ClaimTexts>(),
          .wildcards = row.flag("wildcards"),
          .deployments = deployments ? json::parse(*deployments).get<std::vector<std::string>>()
                                     : std::vector<std::string>(),
          .scopes = stored_scopes(row.text("scopes")),
          .inserted_at = row.instant("inserted_at"),
          .last_used_at = row.instant_or_null("last_used_at")};
}

std::optional<std::string> stored_deployments(const std::vector<std::string>& ids) {
  return ids.empty() ? std::nullopt : std::optional(json(ids).dump());
}

namespace {

// What a trust in an issuer is called if nobody has given it a name, and what its owner should
// know.
struct Checked {
  std::string name;
  std::vector<std::string> warnings;
};
Checked checked(db::Tx& tx, const TrustOrder& order) {
  if (order.issuer == containers_issuer) {
    if (!order.claims.empty())
      throw invalid_field("claims",
                          "must be empty: berth knows which deployment a container is of");
    Checked result = {.name = "Containers", .warnings = {}};
    if (order.deployments.empty())
      result.warnings.emplace_back(
          "every deployment of the app that has an identity is trusted, also new ones; name "
          "deployments to trust only some");
    return result;
  }
  const auto issuer = find_issuer(tx, order.issuer);
  if (!issuer)
    throw invalid_field("issuer", "isn't among the issuers that the platform's admins have listed");
  check_claims(order, issuer->kind);
  return {.name = issuer->name, .warnings = warnings_of(order, issuer->kind)};
}

}  // namespace

NewTrust create_trust(db::Tx& tx, const apps::App& app, const TrustOrder& order) {
  tx.require_serializable();
  const Checked issuer = checked(tx, order);
  check_texts_of(order);
  if (tx.number(R"(SELECT count(*) FROM app_trusts WHERE app_id = $1)", app.id) >= max_trusts)
    throw Error(Code::invalid_state,
                "an app can have at most " + std::to_string(max_trusts) + " trusts");
  const std::set<std::string> deployments(order.deployments.begin(), order.deployments.end());
  const bool has_wildcards = std::ranges::any_of(order.claims, [](const auto& claim) {
    return std::ranges::any_of(claim.second, is_wildcard);
  });
  const Trust trust = {.id = new_uuid(tx.now()),
                       .app_id = app.id,
                       .name = order.name.empty() ? issuer.name : order.name,
                       .issuer = order.issuer,
                       .audience = order.audience,
                       .claims = order.claims,
                       .wildcards = has_wildcards,
                       .deployments = {deployments.begin(), deployments.end()},
                       .scopes = checked_scopes(app, order.scopes),
                       .inserted_at = tx.now(),
                       .last_used_at = {}};
  tx.execute(R"(
      INSERT INTO app_trusts (id, app_id, name, issuer, audience, claims, wildcards, deployments,
                              scopes, inserted_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10))",
             trust.id, trust.app_id, trust.name, trust.issuer, trust.audience,
             json(trust.claims).dump(), trust.wildcards, stored_deployments(trust.deployments),
             trust.scopes.text(), trust.inserted_at);
  return {.trust = trust, .warnings = issuer.warnings};
}

std::vector<Trust> trusts(db::Tx& tx, const std::string& app_id) {
  std::vector<Trust> all;
  auto rows = tx.query(R"(
      SELECT id, app_id, name, issuer, audience, claims, wildcards, deployments, scopes,
             inserted_at, last_used_at
      FROM app_trusts
      WHERE app_id = $1
      ORDER BY inserted_at, id)",
                       app_id);
  while (rows.next()) all.push_back(trust_of(rows));
  return all;
}

void remove_trust(db::Tx& tx, const std::string& app_id, const std::string& id) {
  if (tx.execute(R"(DELETE FROM app_trusts WHERE id = $1 AND app_id = $2)", id, app_id) == 0)
    throw Error(Code::trust_not_found, "the app has no such trust");
  tx.execute(R"(
      UPDATE token_families
      SET revoked_at = $2
      WHERE trust_id = $1 AND revoked_at IS NULL)",
             id, tx.now());
}

void remove_trusts_of(db::Tx& tx, const std::string& app_id) {
  tx.execute(R"(DELETE FROM app_trusts WHERE app_id = $1)", app_id);
}

bool has_claims(const Trust& trust, const json& claims) {
  return std::ranges::all_of(trust.claims, [&](const auto& wanted) {
    const auto& [name, texts] = wanted;
    const auto found = claims.find(name);
    const auto text = found == claims.end() ? std::nullopt : text_of(*found);
    return text && std::ranges::any_of(texts, [&](const std::string& one) {
             if (trust.wildcards && is_wildcard(one))
               return text->starts_with(std::string_view(one).substr(0, one.size() - 1));
             return *text == one;
           });
  });
}

}  // namespace berth::oauth
