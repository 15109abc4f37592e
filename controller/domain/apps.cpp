#include "controller/domain/apps.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/text.h"
#include "controller/domain/audit.h"
#include "controller/domain/ledger.h"
#include "controller/domain/tiers.h"

namespace berth::apps {
namespace {

constexpr const char* app_columns =
    "SELECT id, owner_id, app_name, app_description, logo_url, website_url, client_id, "
    "redirect_uris, "
    "allowed_scopes, approved_scopes, suspended_at, promoted_tier, inserted_at FROM apps ";

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
          .suspended = !row.null(10),
          .promoted_tier = row.text_or_null(11),
          .inserted_at = row.instant(12)};
}

void check_web_url(Details& wrong, const std::string& field,
                   const std::optional<std::string>& url) {
  if (!url) return;
  const bool scheme = url->starts_with("https://") || url->starts_with("http://");
  const bool plain = std::ranges::all_of(*url, [](unsigned char c) {
    return c > 0x20 && c != 0x7f && c != '"' && c != '<' && c != '>';
  });
  if (!scheme || !plain || url->size() > max_url_length)
    wrong[field].push_back("must be an http or https URL of at most 2048 characters");
}

void check(const NewApp& app) {
  Details wrong;
  if (app.app_name.empty() || characters(app.app_name) > max_name_length)
    wrong["app_name"].push_back("must have 1 to 80 characters");
  if (characters(app.app_description) > max_description_length)
    wrong["app_description"].push_back("must have at most 1000 characters");
  if (app.redirect_uris.empty() || app.redirect_uris.size() > max_redirect_uris)
    wrong["redirect_uris"].push_back("must hold 1 to 10 URIs");
  for (const std::string& uri : app.redirect_uris)
    if (const auto refusal = refuse_redirect_uri(uri)) wrong["redirect_uris"].push_back(*refusal);
  check_web_url(wrong, "logo_url", app.logo_url);
  check_web_url(wrong, "website_url", app.website_url);
  if (app.allowed_scopes.empty()) wrong["allowed_scopes"].push_back("must hold at least one scope");
  if (!wrong.empty())
    throw Error(Code::validation_failed, "the app can't be registered like this", wrong);
}

void check_owner(db::Tx& tx, const std::string& owner_id) {
  if (tx.number("SELECT count(*) FROM users WHERE id = $1 AND email_verified_at IS NOT NULL",
                owner_id) == 0)
    throw Error(Code::email_not_verified, "verify your email address before you register an app");
  if (tx.number("SELECT count(*) FROM apps WHERE owner_id = $1", owner_id) >= max_apps_per_account)
    throw Error(Code::app_limit_reached, "an account has at most 10 apps");
}

ScopeRequest request_of(const db::Query& row) {
  return {.id = row.text(0),
          .app_id = row.text(1),
          .requested = stored_scopes(row.text(2)),
          .status = row.text(3),
          .reason = row.text_or_null(4),
          .inserted_at = row.instant(5),
          .decided_at = row.instant_or_null(6)};
}

constexpr const char* request_columns =
    "SELECT id, app_id, requested_scopes, status, reason, inserted_at, decided_at FROM "
    "scope_requests WHERE id = $1";

// `app_id` empty: of any app.
ScopeRequest get_pending(db::Tx& tx, const std::string& id, const std::string& app_id = "") {
  auto rows = tx.query(request_columns, id);
  if (!rows.next() || (!app_id.empty() && rows.text(1) != app_id))
    throw Error(Code::scope_request_not_found, "there is no such scope request");
  if (rows.text(3) != "pending")
    throw Error(Code::invalid_state, "the scope request is " + rows.text(3) + " already");
  return request_of(rows);
}

ScopeRequest decide(db::Tx& tx, const std::string& id, const std::string& status,
                    const std::optional<std::string>& reason, const std::string& actor) {
  tx.execute(
      "UPDATE scope_requests SET status = $2, reason = $3, decided_by = $4, decided_at = $5 WHERE "
      "id = $1",
      id, status, reason, actor, tx.now());
  auto rows = tx.query(request_columns, id);
  rows.next();
  return request_of(rows);
}

void store_scopes(db::Tx& tx, const App& app) {
  tx.execute(
      "UPDATE apps SET allowed_scopes = $2, approved_scopes = $3, updated_at = $4 WHERE id = $1",
      app.id, app.allowed_scopes.text(), app.approved_scopes.text(), tx.now());
}

}  // namespace

AppWithSecret create(db::Tx& tx, const std::string& owner_id, const NewApp& app) {
  check_owner(tx, owner_id);
  check(app);
  const std::string id = new_uuid(tx.now());
  const std::string secret = random_token("cs_live_");
  tx.execute(
      "INSERT INTO apps (id, owner_id, app_name, app_description, logo_url, website_url, "
      "client_id, "
      "client_secret_hash, redirect_uris, allowed_scopes, approved_scopes, inserted_at, "
      "updated_at) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)",
      id, owner_id, app.app_name, app.app_description, app.logo_url, app.website_url,
      "client_" + hex(random_bytes(12)), token_hash(secret),
      nlohmann::json(app.redirect_uris).dump(), app.allowed_scopes.text(),
      ScopeSet::automatic().text(), tx.now());
  ledger::open_account(tx, ledger::app_account(id));
  return {.app = *find(tx, id), .client_secret = secret};
}

std::optional<App> find(db::Tx& tx, const std::string& id) {
  static const std::string sql = std::string(app_columns) + "WHERE id = $1";
  auto rows = tx.query(sql, id);
  return rows.next() ? std::optional(app_of(rows)) : std::nullopt;
}

std::optional<App> find_by_client_id(db::Tx& tx, const std::string& client_id) {
  static const std::string sql = std::string(app_columns) + "WHERE client_id = $1";
  auto rows = tx.query(sql, client_id);
  return rows.next() ? std::optional(app_of(rows)) : std::nullopt;
}

App get_owned(db::Tx& tx, const std::string& owner_id, const std::string& id) {
  auto app = find(tx, id);
  if (!app) throw Error(Code::app_not_found, "there is no such app");
  if (app->owner_id != owner_id)
    throw Error(Code::forbidden, "this app belongs to another operator");
  return *app;
}

Page<App> list_owned(db::Tx& tx, const std::string& owner_id, const PageRequest& page) {
  static const std::string sql =
      std::string(app_columns) +
      "WHERE owner_id = $1 ORDER BY inserted_at DESC, id DESC LIMIT $2 OFFSET $3";
  Page<App> result = {
      .items = {},
      .page = page.page,
      .page_size = page.page_size,
      .total = tx.number("SELECT count(*) FROM apps WHERE owner_id = $1", owner_id)};
  auto rows = tx.query(sql, owner_id, page.page_size, page.offset());
  while (rows.next()) result.items.push_back(app_of(rows));
  return result;
}

App authenticate(db::Tx& tx, const std::string& client_id, const std::string& client_secret) {
  auto rows = tx.query("SELECT id, client_secret_hash FROM apps WHERE client_id = $1", client_id);
  // Hashes of 256 random bits: that they are compared byte by byte tells nothing of use.
  if (!rows.next() || !equal_in_constant_time(rows.text(1), token_hash(client_secret)))
    throw Error(Code::invalid_client, "client_id or client_secret are wrong");
  return *find(tx, rows.text(0));
}

ScopeRequest request_scopes(db::Tx& tx, const App& app, const ScopeSet& scopes) {
  if (tx.number("SELECT count(*) FROM scope_requests WHERE app_id = $1 AND status = 'pending'",
                app.id) > 0)
    throw Error(Code::invalid_state,
                "a scope request of this app is pending; withdraw it to ask for others");
  const std::string id = new_uuid(tx.now());
  tx.execute(
      "INSERT INTO scope_requests (id, app_id, requested_scopes, status, inserted_at) "
      "VALUES ($1, $2, $3, 'pending', $4)",
      id, app.id, scopes.text(), tx.now());
  if (scopes.within(app.approved_scopes)) return approve(tx, id, "automatic");
  return get_pending(tx, id);
}

Page<ScopeRequest> list_requests(db::Tx& tx, const std::optional<std::string>& app_id,
                                 const std::optional<std::string>& status,
                                 const PageRequest& page) {
  Page<ScopeRequest> result = {
      .items = {}, .page = page.page, .page_size = page.page_size, .total = 0};
  result.total = tx.number(
      "SELECT count(*) FROM scope_requests WHERE ($1 IS NULL OR app_id = $1) AND ($2 IS NULL OR "
      "status = $2)",
      app_id, status);
  auto rows = tx.query(
      "SELECT id, app_id, requested_scopes, status, reason, inserted_at, decided_at FROM "
      "scope_requests "
      "WHERE ($1 IS NULL OR app_id = $1) AND ($2 IS NULL OR status = $2) "
      "ORDER BY inserted_at DESC, id DESC LIMIT $3 OFFSET $4",
      app_id, status, page.page_size, page.offset());
  while (rows.next()) result.items.push_back(request_of(rows));
  return result;
}

ScopeRequest withdraw(db::Tx& tx, const App& app, const std::string& request_id) {
  get_pending(tx, request_id, app.id);
  return decide(tx, request_id, "withdrawn", std::nullopt, app.owner_id);
}

ScopeRequest approve(db::Tx& tx, const std::string& request_id, const std::string& actor) {
  const ScopeRequest request = get_pending(tx, request_id);
  App app = *find(tx, request.app_id);
  app.allowed_scopes = app.allowed_scopes | request.requested;
  app.approved_scopes = app.approved_scopes | request.requested;
  store_scopes(tx, app);
  audit::record(tx, actor, "scope_request.approve", request_id,
                nlohmann::json{{"app_id", app.id}, {"scopes", request.requested.names()}}.dump());
  return decide(tx, request_id, "approved", std::nullopt, actor);
}

ScopeRequest reject(db::Tx& tx, const std::string& request_id, const std::string& reason,
                    const std::string& actor) {
  const ScopeRequest request = get_pending(tx, request_id);
  audit::record(tx, actor, "scope_request.reject", request_id,
                nlohmann::json{{"app_id", request.app_id}, {"reason", reason}}.dump());
  return decide(tx, request_id, "rejected", reason, actor);
}

App revoke_scopes(db::Tx& tx, const std::string& app_id, const ScopeSet& scopes,
                  const std::string& actor) {
  auto app = find(tx, app_id);
  if (!app) throw Error(Code::app_not_found, "there is no such app");
  app->approved_scopes = app->approved_scopes - scopes;
  store_scopes(tx, *app);
  audit::record(tx, actor, "app.revoke_scopes", app_id,
                nlohmann::json{{"scopes", scopes.names()}}.dump());
  return *find(tx, app_id);
}

App promote(db::Tx& tx, const std::string& app_id, const std::string& tier,
            const std::string& actor) {
  if (!tiers::find_by_slug(tx, tier)) throw Error(Code::tier_not_found, "there is no tier " + tier);
  if (tx.execute("UPDATE apps SET promoted_tier = $2, updated_at = $3 WHERE id = $1", app_id, tier,
                 tx.now()) == 0)
    throw Error(Code::app_not_found, "there is no such app");
  audit::record(tx, actor, "app.promote", app_id, nlohmann::json{{"tier", tier}}.dump());
  return *find(tx, app_id);
}

}  // namespace berth::apps
