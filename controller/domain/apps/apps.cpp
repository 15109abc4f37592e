#include "controller/domain/apps/apps.h"

#include "controller/base/ascii.h"
#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/accounts/given_up_names.h"
#include "controller/domain/apps/app_rows.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/ledger/ledger.h"

namespace berth::apps {
namespace {

constexpr size_t client_id_bytes = 12;

void check_owner(db::Tx& tx, const std::string& owner_id) {
  tx.require_serializable();
  if (tx.number(R"(
      SELECT count(*)
      FROM users
      WHERE id = $1 AND email_verified_at IS NOT NULL)",
                owner_id) == 0)
    throw Error(Code::email_not_verified, "verify your email address before you register an app");
  if (tx.number(R"(
      SELECT count(*)
      FROM apps
      WHERE owner_id = $1 AND deleted_at IS NULL)",
                owner_id) >= max_apps_per_account)
    throw Error(Code::app_limit_reached, "an account may have at most 10 apps");
}

// Asks the admins to approve the scopes that the app registered for and can't have yet, unless it
// had registered for all of them before.
std::optional<ScopeRequest> ask_for_new_scopes(db::Tx& tx, const App& app, const ScopeSet& before) {
  const ScopeSet missing = app.allowed_scopes - app.approved_scopes.with_included();
  if (missing.within(before)) return std::nullopt;
  return request_scopes(tx, app, missing);
}

std::string new_secret() { return random_token("cs_live_"); }

}  // namespace

AppWithSecret create(db::Tx& tx, const std::string& owner_id, const NewApp& app) {
  check_owner(tx, owner_id);
  check_profile(app);
  accounts::take_up(tx, "app_name", accounts::NameKind::app, app.app_name, owner_id);
  const std::string id = new_uuid(tx.now());
  const std::string secret = app.is_public ? "" : new_secret();
  tx.execute(R"(
      INSERT INTO apps (id, owner_id, app_name, app_description, logo_url, website_url, client_id,
                        client_secret_hash, redirect_uris, allowed_scopes, approved_scopes,
                        session_tokens, refresh_requires_client, inserted_at, updated_at,
                        is_public)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14, $15))",
             id, owner_id, app.app_name, app.app_description, app.logo_url, app.website_url,
             "client_" + hex(random_bytes(client_id_bytes)),
             app.is_public ? "" : token_hash(secret), stored_uris(app.redirect_uris),
             app.allowed_scopes.text(), ScopeSet::automatic().text(), app.session_tokens,
             app.refresh_requires_client, tx.now(), app.is_public);
  ledger::open_account(tx, ledger::app_account(id));
  store_origins(tx, id, app.allowed_origins);
  store_openid_settings(tx, id, app.openid);
  note_spend_wishes(tx, owner_id);
  AppWithSecret created = {.app = *find(tx, id), .client_secret = secret};
  created.scope_request = ask_for_new_scopes(tx, created.app, ScopeSet());
  return created;
}

// Only rows that change are written, because spends read them.
void note_spend_wishes(db::Tx& tx, const std::string& owner_id) {
  tx.execute(R"(
      UPDATE apps
      SET tells_of_spends = 1 - tells_of_spends
      WHERE owner_id = $1
        AND deleted_at IS NULL
        AND tells_of_spends <> CASE
          WHEN EXISTS (SELECT 1
                       FROM webhooks w
                       WHERE w.app_id = apps.id AND w.ended_at IS NULL
                         AND w.events LIKE '%"points.spent"%')
            OR EXISTS (SELECT 1
                       FROM alerts a
                       WHERE (a.app_id = apps.id
                              OR (a.owner_id = apps.owner_id AND a.app_id IS NULL))
                         AND a.disabled_at IS NULL
                         AND a.events LIKE '%"points.spent"%')
            THEN 1
          ELSE 0
        END)",
             owner_id);
}

std::optional<App> find(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_apps + R"(WHERE id = $1 AND deleted_at IS NULL)";
  auto rows = tx.query(sql, id);
  return rows.next() ? std::optional(app_of(rows)) : std::nullopt;
}

std::optional<App> find_by_client_id(db::Tx& tx, const std::string& client_id) {
  static const std::string sql = select_apps + R"(WHERE client_id = $1 AND deleted_at IS NULL)";
  auto rows = tx.query(sql, client_id);
  return rows.next() ? std::optional(app_of(rows)) : std::nullopt;
}

namespace {

SecurityEvent of_another() {
  return {.kind = SecurityKind::access_refused, .reason = "of_another_app"};
}

}  // namespace

Error foreign(db::Tx& tx, const std::string& what, const std::string& owning,
              const std::string& asking) {
  const bool same_owner = tx.number(R"(
    SELECT count(*) FROM apps a
    JOIN apps b ON b.owner_id = a.owner_id
    WHERE a.id = $1 AND b.id = $2)",
                                    owning, asking) > 0;
  return with_event(
      Error(Code::forbidden,
            what + (same_owner ? " belongs to another of your apps; use a token of that app"
                               : " belongs to another operator")),
      of_another());
}

Page<App> list_owned(db::Tx& tx, const std::string& owner_id, const PageRequest& page) {
  static const ListSql sql = {
      .count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM apps WHERE owner_id = $1 AND deleted_at IS NULL LIMIT $2) counted)",
      .rows = select_apps + R"(
      WHERE owner_id = $1 AND deleted_at IS NULL AND (inserted_at, id) < ($2, $3)
      ORDER BY inserted_at DESC, id DESC
      LIMIT $4 OFFSET $5)",
      .sorted_by = {{SortColumn::Type::integer, "inserted_at"}, {SortColumn::Type::text, "id"}}};
  return read_page(tx, sql, page, app_of, owner_id);
}

namespace {

// The apps that a search finds. $1 is the text in lower case, $2 the end of the range of texts that
// begin with it, $3 the text as it is, $4 the key of a username. At most the first 10,001 names are
// read (Page::max_counted).
const std::string matching_apps = R"(
        SELECT id
        FROM (SELECT id
              FROM apps
              WHERE lower(app_name) >= $1 AND lower(app_name) < $2 AND deleted_at IS NULL
              ORDER BY lower(app_name)
              LIMIT 10001) named
        UNION
        SELECT id FROM apps WHERE id = $1 AND deleted_at IS NULL
        UNION
        SELECT id FROM apps WHERE client_id = $3 AND deleted_at IS NULL
        UNION
        SELECT a.id
        FROM users u
        JOIN apps a ON a.owner_id = u.id
        WHERE u.username_key = $4 AND u.deleted_at IS NULL AND a.deleted_at IS NULL)";

}  // namespace

Page<App> list_all(db::Tx& tx, const std::optional<std::string>& search, const PageRequest& page) {
  static const std::vector<SortColumn> newest_first = {{SortColumn::Type::integer, "inserted_at"},
                                                       {SortColumn::Type::text, "id"}};
  static const ListSql all = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM apps WHERE deleted_at IS NULL LIMIT $1) counted)",
                              .rows = select_apps + R"(
      WHERE deleted_at IS NULL AND (inserted_at, id) < ($1, $2)
      ORDER BY inserted_at DESC, id DESC
      LIMIT $3 OFFSET $4)",
                              .sorted_by = newest_first};
  static const ListSql fitting = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM ()" + matching_apps +
                                           R"() f LIMIT $5) counted)",
                                  .rows = select_apps + R"(
      WHERE id IN ()" + matching_apps + R"() AND (inserted_at, id) < ($5, $6)
      ORDER BY inserted_at DESC, id DESC
      LIMIT $7 OFFSET $8)",
                                  .sorted_by = newest_first};
  if (!search) return read_page(tx, all, page, app_of);
  const std::string begin = lower_case(*search);
  return read_page(tx, fitting, page, app_of, begin, end_of_prefix(begin), *search,
                   accounts::folded(*search));
}

Page<App> list_public(db::Tx& tx, const PageRequest& page) {
  static const ListSql sql = {
      .count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM apps
            WHERE listed = 1 AND deleted_at IS NULL AND suspended_at IS NULL
            LIMIT $1) counted)",
      .rows = select_apps + R"(
      WHERE listed = 1 AND deleted_at IS NULL AND suspended_at IS NULL
        AND (inserted_at, id) < ($1, $2)
      ORDER BY inserted_at DESC, id DESC
      LIMIT $3 OFFSET $4)",
      .sorted_by = {{SortColumn::Type::integer, "inserted_at"}, {SortColumn::Type::text, "id"}}};
  return read_page(tx, sql, page, app_of);
}

std::int64_t count_users(db::Tx& tx, const std::string& app_id) {
  return tx.number(R"(SELECT users FROM app_users WHERE app_id = $1)", app_id);
}

App authenticate(db::Tx& tx, const std::string& client_id, const std::string& client_secret) {
  static const std::string sql = select_apps + R"(WHERE client_id = $1 AND deleted_at IS NULL)";
  auto rows = tx.query(sql, client_id);
  const bool known = rows.next();
  const std::string hash = token_hash(client_secret);
  const bool is_current = known && equal_in_constant_time(rows.text("client_secret_hash"), hash);
  const bool is_previous = known && !rows.null("previous_secret_hash") &&
                           rows.instant("previous_secret_expires_at") > tx.now() &&
                           equal_in_constant_time(rows.text("previous_secret_hash"), hash);
  if (!is_current && !is_previous)
    throw Error(Code::invalid_client, "client_id or client_secret is wrong");
  return app_of(rows);
}

App public_client(db::Tx& tx, const std::string& client_id) {
  const auto app = find_by_client_id(tx, client_id);
  if (!app || !app->is_public)
    throw Error(Code::invalid_client, "client_id and client_secret are required");
  return *app;
}

AppWithSecret rotate_secret(db::Tx& tx, const App& app, Duration grace) {
  if (app.is_public)
    throw Error(Code::invalid_state, "the app is a public client, which has no secret");
  const std::string secret = new_secret();
  const bool keeps_old = grace > Duration(0);
  tx.execute(R"(
      UPDATE apps
      SET previous_secret_hash = CASE WHEN $4 = 1 THEN client_secret_hash END,
          previous_secret_expires_at = CASE WHEN $4 = 1 THEN CAST($3 AS bigint) END,
          client_secret_hash = $2, updated_at = $5
      WHERE id = $1)",
             app.id, token_hash(secret), tx.now() + grace, keeps_old, tx.now());
  return {.app = *find(tx, app.id),
          .client_secret = secret,
          .previous_works_until = keeps_old ? std::optional(tx.now() + grace) : std::nullopt};
}

UpdatedApp update(db::Tx& tx, const App& app, const Profile& profile, Listing listing) {
  tx.require_serializable();
  check_profile(profile);
  if (looks_of_name(profile.app_name) != looks_of_name(app.app_name)) {
    accounts::take_up(tx, "app_name", accounts::NameKind::app, profile.app_name, app.owner_id);
    give_name_up(tx, app);
  }
  // A scope that the app no longer registers loses its approval. If it registers it again, an admin
  // has to approve it again.
  const ScopeSet approved =
      app.approved_scopes.cut_to(profile.allowed_scopes | ScopeSet::automatic());
  const int rows =
      tx.execute(R"(
          UPDATE apps
          SET app_name = $2, app_description = $3, logo_url = $4, website_url = $5,
              redirect_uris = $6, allowed_scopes = $7, approved_scopes = $8, listed = $9,
              session_tokens = $10, refresh_requires_client = $11, updated_at = $12
          WHERE id = $1 AND deleted_at IS NULL)",
                 app.id, profile.app_name, profile.app_description, profile.logo_url,
                 profile.website_url, stored_uris(profile.redirect_uris),
                 profile.allowed_scopes.text(), approved.text(), listing == Listing::listed,
                 profile.session_tokens, profile.refresh_requires_client, tx.now());
  auto updated = rows == 0 ? std::nullopt : find(tx, app.id);
  if (!updated) throw Error(Code::app_not_found, "there is no such app");
  store_origins(tx, app.id, profile.allowed_origins);
  store_openid_settings(tx, app.id, profile.openid);
  const auto request = ask_for_new_scopes(tx, *updated, app.allowed_scopes);
  return {.app = *std::move(updated), .scope_request = request};
}

}  // namespace berth::apps
