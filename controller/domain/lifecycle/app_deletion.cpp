// What admins do with apps, and deleting an app.
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/ledger/holds.h"
#include "controller/domain/ledger/ledger.h"

namespace berth::apps {
namespace {

App changed(db::Tx& tx, const std::string& app_id, int rows) {
  auto app = rows == 0 ? std::nullopt : find(tx, app_id);
  if (!app) throw Error(Code::app_not_found, "there is no such app");
  return *app;
}

}  // namespace

void remove(db::Tx& tx, const App& app) {
  if (tx.number("SELECT count(*) FROM deployments WHERE app_id = $1 AND status <> 'destroyed'",
                app.id) > 0)
    throw Error(Code::invalid_state, "the app has deployments; delete them first");
  if (campaigns::has_live(tx, app.id))
    throw Error(Code::invalid_state, "the app has campaigns; cancel them first");
  const ledger::Account account = ledger::app_account(app.id);
  holds::void_all(tx, account);
  if (const std::int64_t left = ledger::balance(tx, account); left > 0) {
    ledger::open_account(tx, ledger::treasury());
    ledger::post(tx, {.kind = "app_deletion",
                      .from = account,
                      .to = ledger::treasury(),
                      .amount = left,
                      .memo = "balance of the deleted app " + app.id});
  }
  tx.execute(
      "UPDATE scope_requests SET status = 'withdrawn', decided_by = $2, decided_at = $3 "
      "WHERE app_id = $1 AND status = 'pending'",
      app.id, app.owner_id, tx.now());
  tx.execute(
      "UPDATE apps SET deleted_at = $2, updated_at = $2, listed = 0, client_secret_hash = '', "
      "previous_secret_hash = NULL WHERE id = $1",
      app.id, tx.now());
}

App suspend(db::Tx& tx, const std::string& app_id, const std::string& actor) {
  const int rows = tx.execute(
      "UPDATE apps SET suspended_at = coalesce(suspended_at, $2), updated_at = $2 WHERE id = $1 "
      "AND deleted_at IS NULL",
      app_id, tx.now());
  App app = changed(tx, app_id, rows);
  campaigns::app_changed(tx, app_id);
  audit::record(tx, actor, "app.suspend", app_id);
  return app;
}

App reactivate(db::Tx& tx, const std::string& app_id, const std::string& actor) {
  const int rows = tx.execute(
      "UPDATE apps SET suspended_at = NULL, updated_at = $2 WHERE id = $1 AND deleted_at IS NULL",
      app_id, tx.now());
  App app = changed(tx, app_id, rows);
  campaigns::app_changed(tx, app_id);
  audit::record(tx, actor, "app.reactivate", app_id);
  return app;
}

App promote(db::Tx& tx, const std::string& app_id, const std::string& tier,
            const std::string& actor) {
  if (!tiers::find_by_slug(tx, tier)) throw Error(Code::tier_not_found, "there is no tier " + tier);
  const int rows = tx.execute(
      "UPDATE apps SET promoted_tier = $2, updated_at = $3 WHERE id = $1 AND deleted_at IS NULL",
      app_id, tier, tx.now());
  App app = changed(tx, app_id, rows);
  campaigns::app_changed(tx, app_id);
  audit::record(tx, actor, "app.promote", app_id, nlohmann::json{{"tier", tier}}.dump());
  return app;
}

}  // namespace berth::apps
