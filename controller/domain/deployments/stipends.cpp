#include "controller/domain/deployments/stipends.h"

#include <nlohmann/json.hpp>

#include "controller/base/log.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/rewards.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::stipends {
namespace {

// Tells the app whose deployment has brought the stipend; of several, the oldest one's.
void tell(db::Tx& tx, const std::string& owner_id, const std::string& tier_id, std::int64_t points,
          const std::string& transaction, const std::string& memo) {
  std::string app_id;
  {
    auto rows = tx.query(R"(
        SELECT app_id
        FROM deployments
        WHERE owner_id = $1 AND tier_id = $2 AND status <> 'destroyed' AND status <> 'stopped'
        ORDER BY inserted_at, id
        LIMIT 1)",
                         owner_id, tier_id);
    if (!rows.next()) return;
    app_id = rows.text("app_id");
  }
  webhooks::emit(tx, app_id, "payout", "payouts:" + owner_id,
                 {{"kind", "stipend"},
                  {"user_id", owner_id},
                  {"amount", points},
                  {"transaction_id", transaction},
                  {"description", memo}});
}

}  // namespace

Instant pay_if_due(db::Tx& tx, const std::string& owner_id) {
  tx.require_serializable();
  const Instant now = tx.now();
  auto last =
      tx.query(R"(SELECT max(paid_at) AS paid_at FROM stipends WHERE owner_id = $1)", owner_id);
  if (last.next() && !last.null("paid_at") && last.instant("paid_at") + interval > now)
    return last.instant("paid_at") + interval;
  auto best = tx.query(R"(
      SELECT t.id, t.slug, t.monthly_stipend_points
      FROM deploy_tiers t
      WHERE t.monthly_stipend_points > 0
        AND EXISTS (SELECT 1
                    FROM deployments d
                    WHERE d.owner_id = $1 AND d.tier_id = t.id AND d.status <> 'destroyed'
                      AND d.status <> 'stopped')
      ORDER BY t.monthly_stipend_points DESC
      LIMIT 1)",
                       owner_id);
  if (!best.next()) return now + interval;
  const std::int64_t points = best.integer("monthly_stipend_points");
  const std::string memo = "stipend of the tier " + best.text("slug");
  ledger::open_account(tx, ledger::treasury());
  ledger::open_account(tx, ledger::user_account(owner_id));
  const auto transaction = ledger::post(tx, {.kind = "stipend",
                                             .from = ledger::treasury(),
                                             .to = ledger::user_account(owner_id),
                                             .amount = points,
                                             .memo = memo,
                                             .mark = rewards::mark_of_gift(tx, owner_id)});
  if (!transaction) {
    log::warning("a stipend wasn't paid yet, because the treasury has too few points",
                 {{"user", owner_id}, {"points", points}});
    return now + retry;
  }
  tx.execute(R"(
      INSERT INTO stipends (owner_id, paid_at, tier_id, amount, transaction_id)
      VALUES ($1, $2, $3, $4, $5))",
             owner_id, now, best.text("id"), points, *transaction);
  tell(tx, owner_id, best.text("id"), points, *transaction, memo);
  return now + interval;
}

}  // namespace berth::stipends
