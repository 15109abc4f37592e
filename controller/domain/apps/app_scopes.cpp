// The approval of scopes.
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::apps {
namespace {

ScopeRequest request_of(const db::Query& row) {
  return {.id = row.text("id"),
          .app_id = row.text("app_id"),
          .requested = stored_scopes(row.text("requested_scopes")),
          .tier = row.text_or_null("tier"),
          .status = db::enum_of<RequestStatus>(row, "status"),
          .reason = row.text_or_null("reason"),
          .inserted_at = row.instant("inserted_at"),
          .decided_at = row.instant_or_null("decided_at")};
}

const std::string select_requests = R"(
    SELECT id, app_id, requested_scopes, tier, status, reason, inserted_at, decided_at
    FROM scope_requests
    )";
const std::string select_request = select_requests + R"(WHERE id = $1)";

// The lists of requests, one for each set of filters, because each has an index of its own.
const std::vector<SortColumn> by_time = {{SortColumn::Type::integer, "inserted_at"},
                                         {SortColumn::Type::text, "id"}};
const ListSql all_requests = {.count = R"(
    SELECT count(*)
    FROM (SELECT 1 AS one FROM scope_requests LIMIT $1) counted)",
                              .rows = select_requests + R"(
    WHERE (inserted_at, id) < ($1, $2)
    ORDER BY inserted_at DESC, id DESC
    LIMIT $3 OFFSET $4)",
                              .sorted_by = by_time};
const ListSql requests_of_app = {.count = R"(
    SELECT count(*)
    FROM (SELECT 1 AS one FROM scope_requests WHERE app_id = $1 LIMIT $2) counted)",
                                 .rows = select_requests + R"(
    WHERE app_id = $1 AND (inserted_at, id) < ($2, $3)
    ORDER BY inserted_at DESC, id DESC
    LIMIT $4 OFFSET $5)",
                                 .sorted_by = by_time};
const ListSql requests_in_status = {.count = R"(
    SELECT count(*)
    FROM (SELECT 1 AS one FROM scope_requests WHERE status = $1 LIMIT $2) counted)",
                                    .rows = select_requests + R"(
    WHERE status = $1 AND (inserted_at, id) < ($2, $3)
    ORDER BY inserted_at DESC, id DESC
    LIMIT $4 OFFSET $5)",
                                    .sorted_by = by_time};
const ListSql requests_of_app_in_status = {.count = R"(
    SELECT count(*)
    FROM (SELECT 1 AS one FROM scope_requests WHERE app_id = $1 AND status = $2 LIMIT $3) counted)",
                                           .rows = select_requests + R"(
    WHERE app_id = $1 AND status = $2 AND (inserted_at, id) < ($3, $4)
    ORDER BY inserted_at DESC, id DESC
    LIMIT $5 OFFSET $6)",
                                           .sorted_by = by_time};

// Returns the pending request; of any app if `app_id` is empty.
ScopeRequest get_pending(db::Tx& tx, const std::string& id, const std::string& app_id = "") {
  auto rows = tx.query(select_request, id);
  if (!rows.next() || (!app_id.empty() && rows.text("app_id") != app_id))
    throw Error(Code::scope_request_not_found, "there is no such scope request");
  const ScopeRequest request = request_of(rows);
  if (request.status != RequestStatus::pending)
    throw Error(Code::invalid_state,
                "the scope request is already " + std::string(to_string(request.status)));
  return request;
}

std::optional<ScopeRequest> pending_of(db::Tx& tx, const std::string& app_id) {
  auto rows = tx.query(R"(
    SELECT id, app_id, requested_scopes, tier, status, reason, inserted_at, decided_at
    FROM scope_requests
    WHERE app_id = $1 AND status = 'pending')",
                       app_id);
  return rows.next() ? std::optional(request_of(rows)) : std::nullopt;
}

ScopeRequest decide(db::Tx& tx, const std::string& id, RequestStatus status,
                    const std::optional<std::string>& reason, const std::string& actor) {
  tx.require_change(R"(
      UPDATE scope_requests
      SET status = $2, reason = $3, decided_by = $4, decided_at = $5
      WHERE id = $1 AND status = 'pending')",
                    id, to_string(status), reason, actor, tx.now());
  auto rows = tx.query(select_request, id);
  rows.next();
  const ScopeRequest decided = request_of(rows);
  // An owner who withdraws their own request needs no event about it.
  if (status != RequestStatus::withdrawn)
    webhooks::emit(
        tx, decided.app_id, "scope_request.decided", id,
        {{"id", id},
         {"app_id", decided.app_id},
         {"status", status},
         {"requested_scopes", decided.requested.names()},
         {"tier", decided.tier ? nlohmann::json(*decided.tier) : nlohmann::json(nullptr)},
         {"reason", reason ? nlohmann::json(*reason) : nlohmann::json(nullptr)}});
  return decided;
}

// The scopes follow from those that the caller has read.
void store_scopes(db::Tx& tx, const App& app) {
  tx.require_serializable();
  tx.execute(R"(
      UPDATE apps
      SET allowed_scopes = $2, approved_scopes = $3, updated_at = $4
      WHERE id = $1)",
             app.id, app.allowed_scopes.text(), app.approved_scopes.text(), tx.now());
}

}  // namespace

ScopeRequest request_scopes(db::Tx& tx, const App& app, const ScopeSet& asked,
                            const std::optional<std::string>& tier) {
  tx.require_serializable();
  const ScopeSet had = app.approved_scopes.with_included() | ScopeSet::identity();
  const bool can_be_had = asked.within(had) && (!tier || tier == app.promoted_tier);
  ScopeSet scopes = asked;
  std::optional<std::string> asked_tier = tier;
  std::optional<std::string> replaced;
  if (const auto pending = can_be_had ? std::nullopt : pending_of(tx, app.id)) {
    scopes = pending->requested | asked;
    if (!tier) asked_tier = pending->tier;
    // Automatic scopes need no approval, so they make no difference. Approved ones do: they may be
    // revoked before the request is decided.
    const ScopeSet automatic = ScopeSet::automatic() | ScopeSet::identity();
    if (pending->requested - automatic == scopes - automatic && pending->tier == asked_tier) {
      tx.require_change(R"(
          UPDATE scope_requests
          SET requested_scopes = $2
          WHERE id = $1 AND status = 'pending')",
                        pending->id, scopes.text());
      return get_pending(tx, pending->id);
    }
    // A new request replaces the pending one, so that no admin approves scopes that they haven't
    // seen.
    decide(tx, pending->id, RequestStatus::withdrawn, std::nullopt, app.owner_id);
    replaced = pending->id;
  }
  const std::string id = new_uuid(tx.now());
  tx.execute(R"(
      INSERT INTO scope_requests (id, app_id, requested_scopes, status, inserted_at, tier)
      VALUES ($1, $2, $3, 'pending', $4, $5))",
             id, app.id, scopes.text(), tx.now(), asked_tier);
  if (can_be_had) return approve(tx, id, "automatic");
  ScopeRequest made = get_pending(tx, id);
  made.replaces = replaced;
  return made;
}

Page<ScopeRequest> list_requests(db::Tx& tx, const std::optional<std::string>& app_id,
                                 std::optional<RequestStatus> status, const PageRequest& page) {
  if (app_id && status)
    return read_page(tx, requests_of_app_in_status, page, request_of, *app_id, to_string(*status));
  if (app_id) return read_page(tx, requests_of_app, page, request_of, *app_id);
  if (status) return read_page(tx, requests_in_status, page, request_of, to_string(*status));
  return read_page(tx, all_requests, page, request_of);
}

ScopeRequest withdraw(db::Tx& tx, const App& app, const std::string& request_id) {
  get_pending(tx, request_id, app.id);
  return decide(tx, request_id, RequestStatus::withdrawn, std::nullopt, app.owner_id);
}

ScopeRequest approve(db::Tx& tx, const std::string& request_id, const std::string& actor,
                     const std::optional<std::string>& reason) {
  const ScopeRequest request = get_pending(tx, request_id);
  // The app exists, because deleting an app withdraws its requests.
  App app = find(tx, request.app_id).value();
  app.allowed_scopes = app.allowed_scopes | request.requested;
  app.approved_scopes = app.approved_scopes | request.requested;
  store_scopes(tx, app);
  audit::record(tx, actor, "scope_request.approve", request_id,
                nlohmann::json{{"app_id", app.id}, {"scopes", request.requested.names()}}.dump(),
                app.id);
  return decide(tx, request_id, RequestStatus::approved, reason, actor);
}

ScopeRequest reject(db::Tx& tx, const std::string& request_id, const std::string& reason,
                    const std::string& actor) {
  const ScopeRequest request = get_pending(tx, request_id);
  audit::record(tx, actor, "scope_request.reject", request_id,
                nlohmann::json{{"app_id", request.app_id}, {"reason", reason}}.dump(),
                request.app_id);
  return decide(tx, request_id, RequestStatus::rejected, reason, actor);
}

App revoke_scopes(db::Tx& tx, const std::string& app_id, const ScopeSet& scopes,
                  const std::string& actor) {
  auto app = find(tx, app_id);
  if (!app) throw Error(Code::app_not_found, "there is no such app");
  app->approved_scopes = app->approved_scopes.without(scopes);
  store_scopes(tx, *app);
  audit::record(tx, actor, "app.revoke_scopes", app_id,
                nlohmann::json{{"scopes", scopes.names()}}.dump());
  return *find(tx, app_id);
}

}  // namespace berth::apps
