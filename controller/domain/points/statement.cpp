#include "controller/domain/points/statement.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/ledger/closed_days.h"
#include "controller/domain/ledger/numbers.h"

namespace berth::points {
namespace {

std::int64_t first_number_of(std::int64_t day) { return ledger::first_number(start_of_day(day)); }

std::int64_t balance_before(db::Tx& tx, const ledger::Account& account, std::int64_t day) {
  return ledger::history(tx, account, day - 1, day - 1).front().balance;
}

// The number behind that of the newest transaction.
std::int64_t next_number(db::Tx& tx) {
  return tx.number(R"(SELECT coalesce(max(number), 0) + 1 FROM ledger_transactions)");
}

Entry entry_in(const db::Query& row) {
  return {.transaction_id =
              ledger::id_of_parts({.high = row.integer("id_high"), .low = row.integer("id_low")}),
          .kind = row.text("kind"),
          .amount = row.integer("amount"),
          .description = row.text("memo"),
          .counterparty = {.kind = row.text("other_kind"), .owner = row.text("other_owner")},
          .counterparty_name = row.text_or_null("other_name"),
          .at = ledger::time_of_number(row.integer("number"))};
}

}  // namespace

Statement::Statement(db::Tx& tx, const ledger::Account& account, const Period& period)
    : account_(account),
      period_(period),
      account_number_(ledger::account_number(tx, account)),
      opening_balance_(balance_before(tx, account, period.first)),
      is_final_(ledger::newest_closed_day(tx).value_or(-1) >= period.last),
      end_(std::min(first_number_of(period.last + 1), next_number(tx))),
      number_(first_number_of(period.first) - 1),
      leg_(std::numeric_limits<std::int64_t>::max()),
      balance_(opening_balance_) {}

// The end isn't a condition of the statement, so that each page begins where the one before it
// ended: with both ends, an engine may choose the wrong one to start from.
std::vector<Line> Statement::next(db::Tx& tx, int most) {
  std::vector<Line> lines;
  if (number_ >= end_) return lines;
  auto rows = tx.query(R"(
      SELECT t.id_high, t.id_low, k.kind, p.amount, t.memo, o.kind AS other_kind,
             o.owner AS other_owner, coalesce(u.username, a.app_name) AS other_name,
             page.transaction_number AS number, page.leg AS leg
      FROM (SELECT transaction_number, leg, incoming
            FROM (SELECT transaction_number, leg, incoming
                  FROM ledger_postings
                  WHERE account_number = $1 AND incoming = 1
                    AND (transaction_number, leg) > ($2, $3)
                  ORDER BY transaction_number, leg
                  LIMIT $4) incoming
            UNION ALL
            SELECT transaction_number, leg, incoming
            FROM (SELECT transaction_number, leg, incoming
                  FROM ledger_postings
                  WHERE account_number = $1 AND incoming = 0
                    AND (transaction_number, leg) > ($2, $3)
                  ORDER BY transaction_number, leg
                  LIMIT $4) outgoing
            ORDER BY transaction_number, leg
            LIMIT $4) page
      JOIN ledger_postings p ON p.account_number = $1 AND p.incoming = page.incoming
        AND p.transaction_number = page.transaction_number AND p.leg = page.leg
      JOIN ledger_transactions t ON t.number = page.transaction_number
      JOIN ledger_kinds k ON k.number = t.kind
      LEFT JOIN ledger_accounts o ON o.number = (
        SELECT q.account_number
        FROM ledger_postings q
        WHERE q.transaction_number = page.transaction_number AND q.amount = -p.amount
        ORDER BY q.leg
        LIMIT 1)
      LEFT JOIN users g ON o.kind = 'user' AND g.id = o.owner
      LEFT JOIN users u ON u.id = coalesce(g.merged_into, g.id) AND u.deleted_at IS NULL
      LEFT JOIN apps a ON o.kind = 'app' AND a.id = o.owner AND a.deleted_at IS NULL
      ORDER BY page.transaction_number, page.leg)",
                       account_number_, number_, leg_, most);
  while (rows.next()) {
    number_ = rows.integer("number");
    leg_ = rows.integer("leg");
    if (number_ >= end_) return lines;
    Entry entry = entry_in(rows);
    balance_ += entry.amount;
    (entry.amount > 0 ? credited_ : debited_) += std::abs(entry.amount);
    ++lines_;
    lines.push_back({.entry = std::move(entry), .balance = balance_});
  }
  if (lines.empty()) number_ = end_;
  return lines;
}

}  // namespace berth::points
