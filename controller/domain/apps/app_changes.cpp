#include "controller/domain/apps/app_changes.h"

#include <array>

#include "controller/base/error.h"
#include "controller/domain/apps/app_rows.h"
#include "controller/domain/apps/invitations.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/eraser.h"
#include "controller/domain/webhooks/app_events.h"

namespace berth::apps {
namespace {

int erase_audit_details(db::Tx& tx, const std::string& app_id, int limit) {
  return audit::erase_details(tx, {app_id, "app:" + app_id}, limit);
}

// Returns the ids of requests. In the statement, $1 is the app and $2 the limit.
std::vector<std::string> requests(db::Tx& tx, std::string_view sql, const std::string& app_id,
                                  int limit) {
  std::vector<std::string> ids;
  auto rows = tx.query(sql, app_id, limit);
  while (rows.next()) ids.push_back(rows.text("id"));
  return ids;
}

int erase_requests_audit_details(db::Tx& tx, const std::string& app_id, int limit) {
  constexpr std::string_view sql = R"(
      SELECT r.id
      FROM scope_requests r
      WHERE r.app_id = $1
        AND EXISTS (SELECT 1 FROM audit_log l WHERE l.target = r.id AND l.details <> '{}')
      LIMIT $2)";
  int erased = 0;
  for (const std::string& id : requests(tx, sql, app_id, limit))
    if (erased < limit) erased += audit::erase_details(tx, {id}, limit - erased);
  return erased;
}

int erase_requests_events(db::Tx& tx, const std::string& app_id, int limit) {
  constexpr std::string_view sql = R"(
      SELECT r.id
      FROM scope_requests r
      WHERE r.app_id = $1 AND EXISTS (SELECT 1 FROM app_events e WHERE e.subject = r.id)
      LIMIT $2)";
  int erased = 0;
  for (const std::string& id : requests(tx, sql, app_id, limit))
    if (erased < limit) erased += app_events::forget(tx, id);
  return erased;
}

int erase_requests_reasons(db::Tx& tx, const std::string& app_id, int limit) {
  return tx.execute(
      R"(
      UPDATE scope_requests
      SET reason = NULL
      WHERE id IN (SELECT id
                   FROM scope_requests
                   WHERE app_id = $1 AND reason IS NOT NULL
                   LIMIT $2))",
      app_id, limit);
}

constexpr std::array<eraser::Erase, 4> parts = {erase_audit_details, erase_requests_audit_details,
                                                erase_requests_events, erase_requests_reasons};

}  // namespace

bool set_suspended(db::Tx& tx, const std::string& app_id, bool suspended) {
  constexpr std::string_view suspend = R"(
      UPDATE apps
      SET suspended_at = coalesce(suspended_at, $2), updated_at = $2
      WHERE id = $1 AND deleted_at IS NULL)";
  constexpr std::string_view reactivate = R"(
      UPDATE apps
      SET suspended_at = NULL, updated_at = $2
      WHERE id = $1 AND deleted_at IS NULL)";
  return tx.execute(suspended ? suspend : reactivate, app_id, tx.now()) > 0;
}

bool set_promoted_tier(db::Tx& tx, const std::string& app_id, const std::string& tier) {
  return tx.execute(
             R"(
      UPDATE apps
      SET promoted_tier = $2, updated_at = $3
      WHERE id = $1 AND deleted_at IS NULL)",
             app_id, tier, tx.now()) > 0;
}

void change_owner(db::Tx& tx, const App& app, const std::string& owner_id) {
  tx.require_serializable();
  if (tx.number(R"(SELECT count(*) FROM apps WHERE id = $1 AND transferred_at > $2)", app.id,
                tx.now() - transfer_interval) > 0)
    throw Error(Code::invalid_state,
                "the app was transferred in the last 30 days; an app goes to another account no "
                "more often than that");
  tx.require_change(
      R"(
      UPDATE apps
      SET owner_id = $3, transferred_at = $4, updated_at = $4
      WHERE id = $1 AND owner_id = $2 AND deleted_at IS NULL)",
      app.id, app.owner_id, owner_id, tx.now());
  // The new one keeps its row, for the time since when it has been a member.
  tx.execute(
      R"(
      UPDATE app_members
      SET role = 'owner', deployments = NULL, updated_at = $3
      WHERE app_id = $1 AND user_id = $2)",
      app.id, owner_id, tx.now());
  tx.execute(
      R"(
      INSERT INTO app_members (app_id, user_id, role, deployments, inserted_at, updated_at)
      VALUES ($1, $2, 'owner', NULL, $3, $4)
      ON CONFLICT (app_id, user_id) DO UPDATE
        SET role = 'owner', deployments = NULL, updated_at = excluded.updated_at)",
      app.id, app.owner_id, app.inserted_at, tx.now());
}

void mark_deleted(db::Tx& tx, const App& app) {
  tx.require_serializable();
  give_name_up(tx, app);
  tx.execute(
      R"(
      UPDATE scope_requests
      SET status = 'withdrawn', decided_by = $2, decided_at = $3
      WHERE app_id = $1 AND status = 'pending')",
      app.id, app.owner_id, tx.now());
  tx.require_change(
      R"(
      UPDATE apps
      SET deleted_at = $2, updated_at = $2, listed = 0, client_secret_hash = '',
          previous_secret_hash = NULL, app_name = '', app_description = '', logo_url = NULL,
          website_url = NULL, redirect_uris = '[]'
      WHERE id = $1 AND deleted_at IS NULL)",
      app.id, tx.now());
  store_origins(tx, app.id, {});
  tx.execute(R"(DELETE FROM app_members WHERE app_id = $1)", app.id);
  forget_invitations_of_app(tx, app.id);
  store_openid_settings(tx, app.id, {});
}

std::vector<std::string> with_consents_to_end(db::Tx& tx, int limit) {
  std::vector<std::string> ids;
  auto rows = tx.query(R"(
      SELECT id
      FROM apps
      WHERE deleted_at IS NOT NULL AND consents_ended = 0
      LIMIT $1)",
                       limit);
  while (rows.next()) ids.push_back(rows.text("id"));
  return ids;
}

void note_consents_ended(db::Tx& tx, const std::string& app_id) {
  tx.require_change(R"(
      UPDATE apps
      SET consents_ended = 1
      WHERE id = $1 AND deleted_at IS NOT NULL)",
                    app_id);
}

std::vector<std::string> ids_ever_owned(db::Tx& tx, const std::string& owner_id) {
  std::vector<std::string> ids;
  auto rows = tx.query(R"(SELECT id FROM apps WHERE owner_id = $1)", owner_id);
  while (rows.next()) ids.push_back(rows.text("id"));
  return ids;
}

int erase_words(db::Tx& tx, const std::string& app_id, int limit) {
  return eraser::run(tx, parts, app_id, limit);
}

}  // namespace berth::apps
