#include "controller/domain/deployments/stipends.h"

#include "controller/base/log.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/rewards.h"

namespace berth::stipends {

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
  ledger::open_account(tx, ledger::treasury());
  ledger::open_account(tx, ledger::user_account(owner_id));
  const auto transaction = ledger::post(tx, {.kind = "stipend",
                                             .from = ledger::treasury(),
                                             .to = ledger::user_account(owner_id),
                                             .amount = points,
                                             .memo = "stipend of the tier " + best.text("slug"),
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
  return now + interval;
}

}  // namespace berth::stipends
