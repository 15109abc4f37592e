// The billing of a deployment as its operator sees it.
#include <algorithm>

#include "controller/db/enum_column.h"
#include "controller/domain/deployments/billing/billing_rows.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/numbers.h"

namespace berth::billing {
namespace {

// A charge has its transaction's id, and a change or a refund one of its own. All begin with their
// times.
std::vector<Entry> history(db::Tx& tx, const std::string& deployment_id) {
  std::vector<Entry> entries;
  auto row = tx.query(R"(
      SELECT 'charge' AS kind, t.slug AS tier, NULL AS from_tier, c.containers,
             CAST(NULL AS BIGINT) AS from_containers, c.period_start, c.amount,
             c.transaction_id, c.transaction_id AS id
      FROM deployment_charges c
      LEFT JOIN deploy_tiers t ON t.id = c.tier_id
      WHERE c.deployment_id = $1
      UNION ALL
      SELECT 'tier_change', n.slug, o.slug, x.to_containers, x.from_containers, x.period_start,
             x.amount, x.transaction_id, x.id
      FROM deployment_tier_changes x
      JOIN deploy_tiers n ON n.id = x.to_tier_id
      JOIN deploy_tiers o ON o.id = x.from_tier_id
      WHERE x.deployment_id = $1
      UNION ALL
      SELECT 'refund', t.slug, NULL, 1, NULL, r.at, -r.amount, r.transaction_id, r.id
      FROM deployment_refunds r
      JOIN deploy_tiers t ON t.id = r.tier_id
      WHERE r.deployment_id = $1
      ORDER BY id DESC
      LIMIT $2)",
                      deployment_id, max_entries);
  while (row.next()) {
    entries.push_back({.kind = db::enum_of<EntryKind>(row, "kind"),
                       .tier = row.text("tier"),
                       .from_tier = row.text_or_null("from_tier"),
                       .containers = int(row.integer("containers")),
                       .from_containers = {},
                       .period_start = row.instant("period_start"),
                       .amount = row.integer("amount"),
                       .transaction_id = row.text_or_null("transaction_id"),
                       .at = ledger::time_of_id(ledger::parts_of_id(row.text("id")))});
    if (!row.null("from_containers"))
      entries.back().from_containers = int(row.integer("from_containers"));
  }
  return entries;
}

}  // namespace

View view(db::Tx& tx, const std::string& deployment_id) {
  Account account = get_account(tx, deployment_id);
  follow_price(account, tx.now());
  const bool is_renewed = runs(account) && account.price > 0;
  const bool is_warned = account.status == Status::warning && account.warned_at;
  View shown = {.status = account.status,
                .tier = account.tier_slug,
                .containers = account.containers,
                .price = account.price,
                .period = period_at(account.created_at, tx.now()),
                .is_paid = account.status == Status::exempt || account.paid_until > tx.now(),
                .next_renewal = {},
                .warned_at = {},
                .stops_at = {},
                .balance = ledger::balance(tx, ledger::app_account(account.app_id)),
                .history = history(tx, deployment_id)};
  if (is_renewed) shown.next_renewal = account.paid_until;
  if (is_renewed && is_warned) {
    shown.warned_at = account.warned_at;
    shown.stops_at = std::max(account.paid_until, *account.warned_at + notice);
  }
  return shown;
}

std::int64_t unpaid(db::Tx& tx, const std::string& deployment_id) {
  Account account = get_account(tx, deployment_id);
  follow_price(account, tx.now());
  return points_due(tx, account);
}

std::vector<Renewal> next_renewals(db::Tx& tx, const std::string& app_id) {
  std::vector<std::string> ids;
  {
    auto rows = tx.query(R"(
        SELECT deployment_id
        FROM deployment_billing
        WHERE app_id = $1 AND due_at IS NOT NULL
        ORDER BY paid_until
        LIMIT $2)",
                         app_id, max_renewals);
    while (rows.next()) ids.push_back(rows.text("deployment_id"));
  }
  std::vector<Renewal> all;
  for (const std::string& id : ids) {
    Account account = get_account(tx, id);
    follow_price(account, tx.now());
    if (runs(account) && account.price > 0)
      all.push_back({.deployment_id = id,
                     .name = account.name,
                     .price = account.price,
                     .at = account.paid_until});
  }
  return all;
}

}  // namespace berth::billing
