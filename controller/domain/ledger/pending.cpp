#include "controller/domain/ledger/pending.h"

#include <map>
#include <stdexcept>

#include "controller/domain/ledger/crediting.h"
#include "controller/domain/ledger/day_rows.h"
#include "controller/domain/ledger/numbers.h"
#include "controller/domain/ledger/pending_rows.h"
#include "controller/domain/ledger/range_checks.h"

namespace berth::ledger {
namespace {

struct Sum {
  std::int64_t postings = 0;
  std::int64_t amount = 0;
};
using SumsByKind = std::map<std::int64_t, Sum>;           // by the kind's number
using SumsByDay = std::map<std::int64_t, SumsByKind>;     // by day
using SumsByAccount = std::map<std::int64_t, SumsByDay>;  // by the account's number

std::int64_t amount_of(const SumsByKind& kinds) {
  std::int64_t amount = 0;
  for (const auto& [kind, sum] : kinds) amount += sum.amount;
  return amount;
}

std::int64_t amount_of(const SumsByDay& days) {
  std::int64_t amount = 0;
  for (const auto& [day, kinds] : days) amount += amount_of(kinds);
  return amount;
}

// The account's row comes first: whoever has it keeps others from the rows of its days.
Account add_to_account(db::Tx& tx, std::int64_t number, std::int64_t amount) {
  auto rows = tx.query(R"(
      UPDATE ledger_accounts
      SET balance = balance + $2, credited = credited + $2
      WHERE number = $1
      RETURNING kind, owner)",
                       number, amount);
  if (!rows.next()) throw std::logic_error("a pending credit's account doesn't exist");
  return {.kind = rows.text("kind"), .owner = rows.text("owner")};
}

// `taken` are rows that a statement has deleted. Returns their number.
int add_to_accounts(db::Tx& tx, db::Query taken) {
  int credits = 0;
  SumsByAccount accounts;
  for (; taken.next(); ++credits) {
    const std::int64_t day = utc_day(time_of_number(taken.integer("transaction_number")));
    Sum& sum = accounts[taken.integer("account_number")][day][taken.integer("kind")];
    ++sum.postings;
    sum.amount += taken.integer("amount");
  }
  for (const auto& [number, days] : accounts) {
    const Account account = add_to_account(tx, number, amount_of(days));
    for (const auto& [day, kinds] : days) {
      count_earlier_credits(tx, account, day, amount_of(kinds));
      for (const auto& [kind, sum] : kinds)
        count_credits_of_kind(tx, account, day, kind, sum.postings, sum.amount);
    }
  }
  return credits;
}

}  // namespace

bool may_have_pending(const db::Tx& tx, const Account& account) {
  return crediting_of(tx).may_have_pending(account);
}

bool is_any_pending(db::Tx& tx) {
  return tx.number(R"(SELECT 1 AS one FROM ledger_pending LIMIT 1)") > 0;
}

std::int64_t count_pending(db::Tx& tx) {
  return tx.number(R"(SELECT count(*) AS credits FROM ledger_pending)");
}

int fold(db::Tx& tx) {
  return add_to_accounts(tx, tx.query(R"(
      DELETE FROM ledger_pending
      WHERE (account_number, transaction_number, leg) IN (
        SELECT account_number, transaction_number, leg
        FROM ledger_pending
        LIMIT $1)
      RETURNING account_number, transaction_number, kind, amount)",
                                      folded_at_once));
}

int fold_in_batches(db::Database& database, const std::function<bool()>& is_stopping) {
  int all = 0;
  for (int some = folded_at_once; some == folded_at_once && !is_stopping(); all += some)
    some = database.write_with_row_locks([](db::Tx& tx) { return fold(tx); });
  return all;
}

void fold_foreign(db::Tx& tx) {
  if (!crediting_of(tx).has_foreign_pending()) return;
  while (fold(tx) > 0) {
  }
}

// The lease needn't be checked within the transaction, because a credit is added only once even if
// two processes try.
int fold_pending(Round& round) {
  if (!round.read(is_any_pending)) return 0;
  return fold_in_batches(round.database(), [&] { return round.is_stopping(); });
}

Loop pending_loop() {
  return {.name = "pending credits",
          .interval = std::chrono::milliseconds(100),
          .lease = "pending_credits",
          .round = [](Round& round) { fold_pending(round); },
          .failure = "pending credits couldn't be added to their accounts; trying again"};
}

int fold(db::Tx& tx, const Account& account) {
  if (!may_have_pending(tx, account)) return 0;
  return add_to_accounts(tx, tx.query(R"(
      DELETE FROM ledger_pending
      WHERE (account_number, transaction_number, leg) IN (
        SELECT p.account_number, p.transaction_number, p.leg
        FROM ledger_accounts a
        JOIN ledger_pending p ON p.account_number = a.number
        WHERE a.id = $1
        LIMIT $2)
      RETURNING account_number, transaction_number, kind, amount)",
                                      account.id(), folded_at_once));
}

void add_pending(db::Tx& tx, const PendingCredit& credit) {
  tx.execute_later(R"(
      INSERT INTO ledger_pending (account_number, transaction_number, leg, kind, amount)
      VALUES ($1, $2, $3, $4, $5))",
                   credit.account, credit.transaction, credit.leg, credit.kind, credit.amount);
}

std::int64_t pending_sum(db::Tx& tx, const Account& account) {
  if (!may_have_pending(tx, account)) return 0;
  return tx.number(R"(
      SELECT coalesce(sum(p.amount), 0) AS points
      FROM ledger_accounts a
      JOIN ledger_pending p ON p.account_number = a.number
      WHERE a.id = $1)",
                   account.id());
}

std::vector<KindDay> pending_days(db::Tx& tx, const Account& account) {
  std::vector<KindDay> all;
  if (!may_have_pending(tx, account)) return all;
  // 1048576 are the places of a millisecond (numbers.h), and a day has 86400000 milliseconds.
  auto rows = tx.query(R"(
      SELECT p.transaction_number / 1048576 / 86400000 AS day, k.kind,
             count(*) AS postings, sum(p.amount) AS credited
      FROM ledger_accounts a
      JOIN ledger_pending p ON p.account_number = a.number
      JOIN ledger_kinds k ON k.number = p.kind
      WHERE a.id = $1
      GROUP BY p.transaction_number / 1048576 / 86400000, k.kind
      ORDER BY day, k.kind)",
                       account.id());
  while (rows.next())
    all.push_back(
        {.day = rows.integer("day"),
         .kind = rows.text("kind"),
         .sum = {.postings = rows.integer("postings"), .credited = rows.integer("credited")}});
  return all;
}

Finding check_pending(db::Tx& tx) {
  Finding finding = violations(tx.query(R"(
      SELECT 'account ' || p.account_number AS id, p.amount - coalesce(q.amount, 0) AS difference
      FROM ledger_pending p
      LEFT JOIN ledger_postings q ON q.account_number = p.account_number AND q.incoming = 1
        AND q.transaction_number = p.transaction_number AND q.leg = p.leg AND q.kind = p.kind
      WHERE p.amount <> coalesce(q.amount, 0))"));
  finding.checked = count_pending(tx);
  return finding;
}

}  // namespace berth::ledger
