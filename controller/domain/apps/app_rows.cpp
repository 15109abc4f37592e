#include "controller/domain/apps/app_rows.h"

#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "controller/domain/accounts/given_up_names.h"

namespace berth::apps {

const std::string select_apps = R"(
    SELECT id, owner_id, app_name, app_description, logo_url, website_url, client_id, redirect_uris,
           allowed_scopes, approved_scopes, session_tokens, refresh_requires_client, is_public, built_in,
           listed, suspended_at, promoted_tier, inserted_at, updated_at, unregistered_until,
           client_secret_hash, previous_secret_hash, previous_secret_expires_at
    FROM apps )";

App app_of(const db::Query& row) {
  const ScopeSet allowed = stored_scopes(row.text("allowed_scopes"));
  const bool unregistered = !row.null("unregistered_until");
  return {.id = row.text("id"),
          .owner_id = row.text("owner_id"),
          .app_name = row.text("app_name"),
          .app_description = row.text("app_description"),
          .logo_url = row.text_or_null("logo_url"),
          .website_url = row.text_or_null("website_url"),
          .client_id = row.text("client_id"),
          .redirect_uris =
              nlohmann::json::parse(row.text("redirect_uris")).get<std::vector<std::string>>(),
          .allowed_scopes = allowed,
          .approved_scopes = unregistered
                                 ? ScopeSet::identity()
                                 : stored_scopes(row.text("approved_scopes")) |
                                       ScopeSet::automatic() | (allowed & ScopeSet::identity()),
          .session_tokens = row.flag("session_tokens"),
          .refresh_requires_client = row.flag("refresh_requires_client"),
          .is_public = row.flag("is_public"),
          .built_in = row.flag("built_in"),
          .unregistered = unregistered,
          .listed = row.flag("listed"),
          .suspended = !row.null("suspended_at"),
          .promoted_tier = row.text_or_null("promoted_tier"),
          .inserted_at = row.instant("inserted_at"),
          .updated_at = row.instant("updated_at")};
}

std::string stored_uris(const std::vector<std::string>& uris) {
  return nlohmann::json(uris).dump();
}

void give_name_up(db::Tx& tx, const App& app) {
  if (tx.number(
          R"(
          SELECT count(*)
          FROM (SELECT 1 AS one
                FROM apps
                WHERE lower(app_name) = lower($1) AND owner_id <> $2 AND deleted_at IS NULL
                LIMIT 1) others)",
          app.app_name, app.owner_id) == 0)
    accounts::give_up(tx, accounts::NameKind::app, app.app_name, app.owner_id);
}

namespace {

void check_web_url(Details& wrong, const std::string& field,
                   const std::optional<std::string>& url) {
  if (!url) return;
  const auto read = parse_url(*url);
  const bool plain = url->find_first_of("\"<>") == std::string::npos;
  if (!read || !read->is_web() || read->has_user() || !plain || url->size() > max_url_length)
    wrong[field].push_back(
        "must be an http or https URL with a host, without a user name, of at most 2048 "
        "characters");
}

}  // namespace

void check_profile(const Profile& profile) {
  Details wrong;
  if (profile.app_name.empty() || characters(profile.app_name) > max_name_length)
    wrong["app_name"].push_back("must have 1 to 80 characters");
  if (characters(profile.app_description) > max_description_length)
    wrong["app_description"].push_back("must have at most 1000 characters");
  if (profile.redirect_uris.empty() || profile.redirect_uris.size() > max_redirect_uris)
    wrong["redirect_uris"].push_back("must have 1 to 10 URIs");
  for (const std::string& uri : profile.redirect_uris)
    if (const auto refusal = refuse_redirect_uri(uri)) wrong["redirect_uris"].push_back(*refusal);
  if (profile.allowed_origins.size() > max_origins)
    wrong["allowed_origins"].push_back("must hold 10 origins at most");
  for (const std::string& origin : profile.allowed_origins)
    if (!parse_origin(origin))
      wrong["allowed_origins"].push_back(
          "must be origins such as https://game.example.org: https, or http on localhost, with a "
          "host and perhaps a port, and nothing after them");
  if (profile.is_public && profile.refresh_requires_client)
    wrong["refresh_requires_client"].push_back("must be false for a client without a secret");
  check_web_url(wrong, "logo_url", profile.logo_url);
  check_web_url(wrong, "website_url", profile.website_url);
  check_openid(profile.openid, wrong);
  if (profile.allowed_scopes.empty())
    wrong["allowed_scopes"].push_back("must have at least one scope");
  if (!wrong.empty())
    throw Error(Code::validation_failed, "some fields of the app are missing or wrong", wrong);
}

}  // namespace berth::apps
