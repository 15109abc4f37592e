#include "controller/domain/apps/unregistered.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "controller/base/ascii.h"
#include "controller/base/id.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "controller/base/visible_text.h"
#include "controller/domain/accounts/keeper.h"
#include "controller/domain/apps/app_rows.h"

namespace berth::apps {
namespace {

// A row is written again only when it would be kept this much longer, because many users may allow
// the same client something at the same time.
constexpr Duration least_extension = std::chrono::days(1);

// Whether the path has a segment that programs take for "." or "..".
bool has_dot_segment(std::string_view rest) {
  std::string_view path = rest.substr(0, rest.find_first_of("?#"));
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const auto segment = percent_decode(path.substr(0, end), Plus::is_plus);
    if (!segment || *segment == "." || *segment == "..") return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

std::string host_of(const std::string& client_url) {
  const auto url = parse_url(client_url);
  return url ? url->authority() : client_url;
}

// A list of texts, which may be missing.
bool may_contain(const nlohmann::json& object, const char* list, const char* wanted) {
  const auto found = object.find(list);
  return found == object.end() ||
         (found->is_array() && std::ranges::find(*found, nlohmann::json(wanted)) != found->end());
}

std::vector<std::string> redirect_uris_in(const nlohmann::json& object) {
  const auto listed = object.find("redirect_uris");
  if (listed == object.end() || !listed->is_array())
    throw std::runtime_error("has no list redirect_uris");
  if (listed->size() > max_document_redirect_uris)
    throw std::runtime_error("has more than " + std::to_string(max_document_redirect_uris) +
                             " redirect_uris");
  std::vector<std::string> usable;
  for (const auto& uri : *listed)
    if (uri.is_string() && !refuse_redirect_uri(uri.get<std::string>()))
      usable.push_back(uri.get<std::string>());
  if (usable.empty()) throw std::runtime_error("has no redirect URI that may be used here");
  return usable;
}

}  // namespace

bool is_client_url(std::string_view client_id) {
  return client_id.starts_with("https://") || client_id.starts_with("http://");
}

std::optional<std::string> refuse_client_url(const std::string& url, ClientUrls allowed) {
  if (url.size() > max_client_url_length)
    return "must have at most " + std::to_string(max_client_url_length) + " characters";
  const bool is_printable =
      std::ranges::all_of(url, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '\\'; });
  const auto read = is_printable ? parse_url(url) : std::nullopt;
  if (!read) return "must be a URL with a host";
  const bool is_local = allowed == ClientUrls::loopback_too && is_loopback(read->host);
  if (read->scheme != "https" && !(read->scheme == "http" && is_local))
    return "must begin with https://";
  if (!is_local && !is_host_name(read->host)) return "must have a name as its host";
  if (read->has_user()) return "must not contain a user name";
  if (!read->rest.starts_with('/')) return "must have a path";
  if (read->rest.find('#') != std::string::npos) return "must not have a fragment";
  if (has_dot_segment(read->rest)) return "must not have the segments . and .. in its path";
  return std::nullopt;
}

ClientDocument read_client_document(const std::string& url, const std::string& text) {
  if (text.size() > max_document_bytes)
    throw std::runtime_error("has more than " + std::to_string(max_document_bytes) + " bytes");
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) throw std::runtime_error("isn't a JSON object");
  const auto named = object.find("client_id");
  if (named == object.end() || *named != nlohmann::json(url))
    throw std::runtime_error("has another client_id than its URL");
  if (object.contains("client_secret") || object.contains("client_secret_expires_at"))
    throw std::runtime_error("contains a secret, which everybody can read there");
  // RFC 7591 has another default, which needs a secret.
  const auto method = object.find("token_endpoint_auth_method");
  if (method != object.end() && *method != nlohmann::json("none"))
    throw std::runtime_error("must have the token_endpoint_auth_method none");
  if (!may_contain(object, "grant_types", "authorization_code") ||
      !may_contain(object, "response_types", "code"))
    throw std::runtime_error("doesn't ask for authorization codes");
  const auto name = object.find("client_name");
  const std::string given =
      name != object.end() && name->is_string() ? name->get<std::string>() : std::string();
  const bool is_shown = !is_blank(given) && !refusal_of_text(given, Lines::one);
  return {.url = url,
          .name = is_shown ? cut(given, max_name_length) : std::string(),
          .redirect_uris = redirect_uris_in(object)};
}

App unregistered_app(db::Tx& tx, const ClientDocument& document) {
  App app;
  app.inserted_at = tx.now();
  if (auto known = find_by_client_id(tx, document.url)) app = *std::move(known);
  app.owner_id = accounts::keeper_id;
  app.app_name = host_of(document.url);
  app.app_description = document.name;
  app.client_id = document.url;
  app.redirect_uris = document.redirect_uris;
  app.allowed_scopes = ScopeSet::identity();
  app.approved_scopes = ScopeSet::identity();
  app.session_tokens = false;
  app.is_public = true;
  app.unregistered = true;
  return app;
}

App store_unregistered(db::Tx& tx, const ClientDocument& document) {
  const App app = unregistered_app(tx, document);
  const Instant until = tx.now() + unregistered_kept_for;
  tx.execute(R"(
      INSERT INTO apps (id, owner_id, app_name, app_description, client_id, client_secret_hash,
                        redirect_uris, allowed_scopes, approved_scopes, session_tokens, is_public,
                        inserted_at, updated_at, unregistered_until)
      VALUES ($1, $2, $3, $4, $5, '', $6, $7, '', 0, 1, $8, $8, $9)
      ON CONFLICT (client_id) DO UPDATE
      SET app_description = excluded.app_description, redirect_uris = excluded.redirect_uris,
          updated_at = excluded.updated_at, unregistered_until = excluded.unregistered_until
      WHERE apps.unregistered_until <= $10 OR apps.app_description <> excluded.app_description
        OR apps.redirect_uris <> excluded.redirect_uris)",
             new_uuid(tx.now()), app.owner_id, app.app_name, app.app_description, app.client_id,
             stored_uris(app.redirect_uris), app.allowed_scopes.text(), tx.now(), until,
             until - least_extension);
  return unregistered_app(tx, document);
}

bool is_any_to_forget(db::Tx& tx) {
  return tx.number(R"(
      SELECT 1
      FROM apps
      WHERE unregistered_until <= $1 AND suspended_at IS NULL
      LIMIT 1)",
                   tx.now()) > 0;
}

int forget_unregistered(db::Tx& tx, int limit) {
  return tx.execute(R"(
      UPDATE apps
      SET client_id = id, app_name = '', app_description = '', redirect_uris = '[]',
          deleted_at = $1, unregistered_until = NULL
      WHERE deleted_at IS NULL
        AND id IN (SELECT id
                   FROM apps
                   WHERE unregistered_until <= $1 AND suspended_at IS NULL
                   LIMIT $2))",
                    tx.now(), limit);
}

}  // namespace berth::apps
