// What admins do with apps, and deleting an app.
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/apps/app_changes.h"
#include "controller/domain/deployments/app_variables.h"
#include "controller/domain/deployments/builds/builds.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/ledger/holds.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/lifecycle/erasure.h"
#include "controller/domain/oauth/trusts.h"

namespace berth::apps {
namespace {

// Returns the app after a change. Throws app_not_found if the change found no app.
App changed(db::Tx& tx, const std::string& app_id, bool is_there) {
  auto app = is_there ? find(tx, app_id) : std::nullopt;
  if (!app) throw Error(Code::app_not_found, "there is no such app");
  return *app;
}

}  // namespace

void remove(db::Tx& tx, const App& app) {
  tx.require_serializable();
  if (deployments::list(tx, app.id, {.page = 1, .page_size = 1}).total > 0)
    throw Error(Code::invalid_state, "the app has deployments; delete them first");
  if (builds::has_open(tx, app.id))
    throw Error(Code::invalid_state,
                "the app has builds that are waiting or running; cancel them first");
  if (campaigns::has_live(tx, app.id))
    throw Error(Code::invalid_state, "the app has campaigns; cancel them first");
  const ledger::Account account = ledger::app_account(app.id);
  holds::void_all(tx, account);
  metering::close_app(tx, app.id);
  deployments::forget_app_variables(tx, app.id);
  oauth::remove_trusts_of(tx, app.id);
  if (const std::int64_t left = ledger::balance(tx, account); left > 0) {
    ledger::open_account(tx, ledger::treasury());
    ledger::post(tx, {.kind = "app_deletion",
                      .from = account,
                      .to = ledger::treasury(),
                      .amount = left,
                      .memo = "balance of the deleted app " + app.id});
  }
  mark_deleted(tx, app);
  erasure::begin_app(tx, app.id);
}

App suspend(db::Tx& tx, const std::string& app_id, const std::string& actor) {
  App app = changed(tx, app_id, set_suspended(tx, app_id, true));
  campaigns::app_changed(tx, app_id);
  audit::record(tx, actor, "app.suspend", app_id);
  return app;
}

App reactivate(db::Tx& tx, const std::string& app_id, const std::string& actor) {
  App app = changed(tx, app_id, set_suspended(tx, app_id, false));
  campaigns::app_changed(tx, app_id);
  audit::record(tx, actor, "app.reactivate", app_id);
  return app;
}

App promote(db::Tx& tx, const std::string& app_id, const std::string& tier,
            const std::string& actor) {
  if (!tiers::find_by_slug(tx, tier)) throw Error(Code::tier_not_found, "there is no tier " + tier);
  App app = changed(tx, app_id, set_promoted_tier(tx, app_id, tier));
  campaigns::app_changed(tx, app_id);
  audit::record(tx, actor, "app.promote", app_id, nlohmann::json{{"tier", tier}}.dump());
  return app;
}

ScopeRequest grant(db::Tx& tx, const std::string& request_id, const std::string& actor,
                   const std::optional<std::string>& reason) {
  ScopeRequest request = approve(tx, request_id, actor, reason);
  if (request.tier) promote(tx, request.app_id, *request.tier, actor);
  return request;
}

}  // namespace berth::apps
