// The approval of scopes.
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::apps {
namespace {

ScopeRequest request_of(const db::Query& row) {
  return {.id = row.text("id"),
          .app_id = row.text("app_id"),
          .requested = stored_scopes(row.text("requested_scopes")),
          .status = row.text("status"),
          .reason = row.text_or_null("reason"),
          .inserted_at = row.instant("inserted_at"),
          .decided_at = row.instant_or_null("decided_at")};
}

constexpr std::string_view select_request = R"(
    SELECT id, app_id, requested_scopes, status, reason, inserted_at, decided_at
    FROM scope_requests
    WHERE id = $1)";

// Returns the pending request; of any app if `app_id` is empty.
ScopeRequest get_pending(db::Tx& tx, const std::string& id, const std::string& app_id = "") {
  auto rows = tx.query(select_request, id);
  if (!rows.next() || (!app_id.empty() && rows.text("app_id") != app_id))
    throw Error(Code::scope_request_not_found, "there is no such scope request");
  if (rows.text("status") != "pending")
    throw Error(Code::invalid_state, "the scope request is already " + rows.text("status"));
  return request_of(rows);
}

std::optional<ScopeRequest> pending_of(db::Tx& tx, const std::string& app_id) {
  auto rows = tx.query(R"(
    SELECT id, app_id, requested_scopes, status, reason, inserted_at, decided_at
    FROM scope_requests
    WHERE app_id = $1 AND status = 'pending')",
                       app_id);
  return rows.next() ? std::optional(request_of(rows)) : std::nullopt;
}

ScopeRequest decide(db::Tx& tx, const std::string& id, const std::string& status,
                    const std::optional<std::string>& reason, const std::string& actor) {
  tx.execute(R"(
      UPDATE scope_requests
      SET status = $2, reason = $3, decided_by = $4, decided_at = $5
      WHERE id = $1)",
             id, status, reason, actor, tx.now());
  auto rows = tx.query(select_request, id);
  rows.next();
  const ScopeRequest decided = request_of(rows);
  // The owner knows of a request that they withdrew themselves.
  if (status != "withdrawn")
    webhooks::emit(tx, decided.app_id, "scope_request.decided", id,
                   {{"id", id},
                    {"app_id", decided.app_id},
                    {"status", status},
                    {"requested_scopes", decided.requested.names()},
                    {"reason", reason ? nlohmann::json(*reason) : nlohmann::json(nullptr)}});
  return decided;
}

void store_scopes(db::Tx& tx, const App& app) {
  tx.execute(R"(
      UPDATE apps
      SET allowed_scopes = $2, approved_scopes = $3, updated_at = $4
      WHERE id = $1)",
             app.id, app.allowed_scopes.text(), app.approved_scopes.text(), tx.now());
}

}  // namespace

ScopeRequest request_scopes(db::Tx& tx, const App& app, const ScopeSet& scopes) {
  const bool can_be_had = scopes.within(app.approved_scopes);
  if (const auto pending = can_be_had ? std::nullopt : pending_of(tx, app.id)) {
    // Automatic scopes need no approval, so they make no difference. Approved ones do: they may be
    // revoked before the request is decided.
    const ScopeSet automatic = ScopeSet::automatic();
    if (pending->requested - automatic == scopes - automatic) {
      tx.execute(R"(UPDATE scope_requests SET requested_scopes = $2 WHERE id = $1)", pending->id,
                 scopes.text());
      return get_pending(tx, pending->id);
    }
    decide(tx, pending->id, "withdrawn", std::nullopt, app.owner_id);
  }
  const std::string id = new_uuid(tx.now());
  tx.execute(R"(
      INSERT INTO scope_requests (id, app_id, requested_scopes, status, inserted_at)
      VALUES ($1, $2, $3, 'pending', $4))",
             id, app.id, scopes.text(), tx.now());
  if (can_be_had) return approve(tx, id, "automatic");
  return get_pending(tx, id);
}

Page<ScopeRequest> list_requests(db::Tx& tx, const std::optional<std::string>& app_id,
                                 const std::optional<std::string>& status,
                                 const PageRequest& page) {
  Page<ScopeRequest> result = {
      .items = {}, .page = page.page, .page_size = page.page_size, .total = 0};
  result.total = tx.number(R"(
      SELECT count(*)
      FROM scope_requests
      WHERE (app_id = $1 OR $1 IS NULL) AND (status = $2 OR $2 IS NULL))",
                           app_id, status);
  auto rows = tx.query(R"(
      SELECT id, app_id, requested_scopes, status, reason, inserted_at, decided_at
      FROM scope_requests
      WHERE (app_id = $1 OR $1 IS NULL) AND (status = $2 OR $2 IS NULL)
      ORDER BY inserted_at DESC, id DESC
      LIMIT $3 OFFSET $4)",
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
  // Exists, because deleting an app withdraws its requests.
  App app = find(tx, request.app_id).value();
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

}  // namespace berth::apps
