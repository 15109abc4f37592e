#include "controller/domain/apps/app_rows.h"

#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/base/text.h"
#include "controller/base/url.h"

namespace berth::apps {

const std::string app_columns =
    "id, owner_id, app_name, app_description, logo_url, website_url, client_id, redirect_uris, "
    "allowed_scopes, approved_scopes, listed, suspended_at, promoted_tier, inserted_at, "
    "updated_at, session_tokens, refresh_requires_client";
const std::string select_apps = "SELECT " + app_columns + " FROM apps ";

App app_of(const db::Query& row) {
  return {.id = row.text(0),
          .owner_id = row.text(1),
          .app_name = row.text(2),
          .app_description = row.text(3),
          .logo_url = row.text_or_null(4),
          .website_url = row.text_or_null(5),
          .client_id = row.text(6),
          .redirect_uris = nlohmann::json::parse(row.text(7)).get<std::vector<std::string>>(),
          .allowed_scopes = stored_scopes(row.text(8)),
          .approved_scopes = stored_scopes(row.text(9)) | ScopeSet::automatic(),
          .session_tokens = row.flag(15),
          .refresh_requires_client = row.flag(16),
          .listed = row.flag(10),
          .suspended = !row.null(11),
          .promoted_tier = row.text_or_null(12),
          .inserted_at = row.instant(13),
          .updated_at = row.instant(14)};
}

std::string stored_uris(const std::vector<std::string>& uris) {
  return nlohmann::json(uris).dump();
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
          "host and perhaps a port, and nothing behind them");
  check_web_url(wrong, "logo_url", profile.logo_url);
  check_web_url(wrong, "website_url", profile.website_url);
  if (profile.allowed_scopes.empty())
    wrong["allowed_scopes"].push_back("must have at least one scope");
  if (!wrong.empty())
    throw Error(Code::validation_failed, "some fields of the app are missing or wrong", wrong);
}

}  // namespace berth::apps
