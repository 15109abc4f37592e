// What admins give back of what a deployment was charged.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/billing/billing_rows.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/rewards.h"

namespace berth::billing {

std::int64_t refundable(db::Tx& tx, const std::string& deployment_id) {
  const std::int64_t left = tx.number(R"(
      SELECT coalesce((SELECT sum(amount) FROM deployment_charges WHERE deployment_id = $1), 0)
           + coalesce((SELECT sum(amount) FROM deployment_tier_changes WHERE deployment_id = $1), 0)
           + coalesce((SELECT sum(points) FROM meter_days WHERE deployment_id = $1), 0)
           - coalesce((SELECT sum(amount) FROM deployment_refunds WHERE deployment_id = $1), 0)
           + coalesce((SELECT sum(c.amount)
                       FROM deployment_refunds r
                       JOIN claw_backs c ON c.transaction_id = r.transaction_id
                       WHERE r.deployment_id = $1), 0))",
                                      deployment_id);
  return std::max<std::int64_t>(left, 0);
}

void require_refundable(std::int64_t amount, std::int64_t most) {
  if (amount > most)
    throw invalid_field("amount", "must be at most " + std::to_string(most) +
                                      ", which the deployment was charged and not given back yet");
}

std::int64_t refund(db::Tx& tx, const deployments::AdminAction& action,
                    const std::string& deployment_id, std::int64_t amount,
                    const std::string& reason) {
  tx.require_serializable();
  const Account account = get_account(tx, deployment_id);
  if (!apps::find(tx, account.app_id))
    throw Error(Code::invalid_state, "the app was deleted, so nobody could use the points");
  require_refundable(amount, refundable(tx, deployment_id));
  const auto app = ledger::app_account(account.app_id);
  ledger::open_account(tx, ledger::treasury());
  // Nobody knows whether the charge was paid with bonus points; see change.cpp.
  const auto transaction = ledger::post(tx, {.kind = "deployment_refund",
                                             .from = ledger::treasury(),
                                             .to = app,
                                             .amount = amount,
                                             .memo = "deployment " + account.name + ", refund",
                                             .mark = rewards::mark_of_gift(tx, account.owner_id)});
  if (!transaction) throw Error(Code::unavailable, "the treasury has too few points at the moment");
  tx.execute(R"(
      INSERT INTO deployment_refunds
        (id, deployment_id, tier_id, amount, reason, transaction_id, at)
      VALUES ($1, $2, $3, $4, $5, $6, $7))",
             new_uuid(tx.now()), deployment_id, account.tier_id, amount, reason, *transaction,
             tx.now());
  audit::record(tx, action.admin, "deployment.refund", deployment_id,
                nlohmann::json{{"amount", amount}, {"reason", reason}}.dump(), account.app_id);
  return ledger::balance(tx, app);
}

}  // namespace berth::billing
