#include "controller/domain/ledger/days.h"

#include <map>
#include <stdexcept>
#include <utility>

#include "controller/domain/ledger/day_rows.h"
#include "controller/domain/ledger/pending_rows.h"

namespace berth::ledger {
namespace {

Totals totals_before(db::Tx& tx, const std::string& account_id, std::int64_t day) {
  auto rows = tx.query(R"(
      SELECT credited, debited
      FROM ledger_days
      WHERE account_id = $1 AND day < $2
      ORDER BY day DESC
      LIMIT 1)",
                       account_id, day);
  if (!rows.next()) return {};
  return {.credited = rows.integer("credited"), .debited = rows.integer("debited")};
}

// Adds what is pending to days that follow each other.
void add_pending_to(std::vector<Day>& days, const std::vector<KindDay>& pending) {
  for (Day& one : days)
    for (const KindDay& part : pending) {
      if (part.day == one.day) one.credited += part.sum.credited;
      if (part.day <= one.day) one.balance += part.sum.credited;
    }
}

void add(KindSum& sum, const KindSum& more) {
  sum.postings += more.postings;
  sum.credited += more.credited;
  sum.debited += more.debited;
}

KindSum sum_of(const db::Query& row) {
  return {.postings = row.integer("postings"),
          .credited = row.integer("credited"),
          .debited = row.integer("debited")};
}

}  // namespace

std::vector<Day> history(db::Tx& tx, const Account& account, std::int64_t first,
                         std::int64_t last) {
  if (last - first >= max_history_days) throw std::logic_error("too many days");
  Totals before = totals_before(tx, account.id(), first);
  std::vector<Day> all;
  const auto add_quiet_days = [&](std::int64_t until) {
    for (std::int64_t day = first + std::int64_t(all.size()); day < until; ++day)
      all.push_back({.day = day, .balance = before.credited - before.debited});
  };
  auto rows = tx.query(R"(
      SELECT day, credited, debited
      FROM ledger_days
      WHERE account_id = $1 AND day BETWEEN $2 AND $3
      ORDER BY day)",
                       account.id(), first, last);
  while (rows.next()) {
    add_quiet_days(rows.integer("day"));
    const Totals after = {.credited = rows.integer("credited"), .debited = rows.integer("debited")};
    all.push_back({.day = rows.integer("day"),
                   .credited = after.credited - before.credited,
                   .debited = after.debited - before.debited,
                   .balance = after.credited - after.debited});
    before = after;
  }
  add_quiet_days(last + 1);
  add_pending_to(all, pending_days(tx, account));
  return all;
}

Totals totals(db::Tx& tx, const Account& account) {
  auto rows = tx.query(R"(
      SELECT credited, debited
      FROM ledger_accounts
      WHERE id = $1)",
                       account.id());
  if (!rows.next()) return {};
  return {.credited = rows.integer("credited") + pending_sum(tx, account),
          .debited = rows.integer("debited")};
}

KindSum sum_of_kind(db::Tx& tx, const Account& account, std::string_view kind, std::int64_t first,
                    std::int64_t last) {
  const auto sums = sums_of_kinds(tx, account, first, last);
  const auto found = sums.find(kind);
  return found == sums.end() ? KindSum() : found->second;
}

std::map<std::string, KindSum, std::less<>> sums_of_kinds(db::Tx& tx, const Account& account,
                                                          std::int64_t first, std::int64_t last) {
  std::map<std::string, KindSum, std::less<>> sums;
  for (const KindDay& part : pending_days(tx, account))
    if (part.day >= first && part.day <= last) add(sums[part.kind], part.sum);
  auto rows = tx.query(R"(
      SELECT kind, sum(postings) AS postings, sum(credited) AS credited, sum(debited) AS debited
      FROM ledger_kind_days
      WHERE account_id = $1 AND day BETWEEN $2 AND $3
      GROUP BY kind)",
                       account.id(), first, last);
  while (rows.next()) add(sums[rows.text("kind")], sum_of(rows));
  return sums;
}

std::vector<KindDay> kinds(db::Tx& tx, const Account& account, std::int64_t first,
                           std::int64_t last) {
  std::map<std::pair<std::int64_t, std::string>, KindSum> sums;
  for (const KindDay& part : pending_days(tx, account))
    if (part.day >= first && part.day <= last) sums[{part.day, part.kind}] = part.sum;
  auto rows = tx.query(R"(
      SELECT day, kind, postings, credited, debited
      FROM ledger_kind_days
      WHERE account_id = $1 AND day BETWEEN $2 AND $3
      ORDER BY day, kind)",
                       account.id(), first, last);
  while (rows.next()) add(sums[{rows.integer("day"), rows.text("kind")}], sum_of(rows));
  std::vector<KindDay> all;
  all.reserve(sums.size());
  for (const auto& [key, sum] : sums)
    all.push_back({.day = key.first, .kind = key.second, .sum = sum});
  return all;
}

bool each_account_day(db::Tx& tx, std::int64_t first, std::int64_t last, std::int64_t most,
                      const std::function<void(const AccountDay&)>& take) {
  std::int64_t read = 0;
  auto rows = tx.query(R"(
      SELECT account_id, day, credited, debited
      FROM ledger_kind_days
      WHERE day BETWEEN $1 AND $2
      ORDER BY day DESC, account_id DESC, kind DESC
      LIMIT $3)",
                       first, last, most + 1);
  while (rows.next()) {
    if (++read > most) return false;
    take({.account_id = rows.text("account_id"),
          .day = rows.integer("day"),
          .credited = rows.integer("credited"),
          .debited = rows.integer("debited")});
  }
  return true;
}

bool has_kind_sums(const Account& account) {
  return account.kind == "app" || account.kind == "treasury" || account.kind == "issuance";
}

void count_posting(db::Tx& tx, const Account& account, std::int64_t day, std::string_view kind,
                   std::int64_t amount, const Totals& after) {
  tx.execute_later(R"(
      INSERT INTO ledger_days (account_id, day, credited, debited)
      VALUES ($1, $2, $3, $4)
      ON CONFLICT (account_id, day)
      DO UPDATE SET credited = excluded.credited, debited = excluded.debited)",
                   account.id(), day, after.credited, after.debited);
  if (!has_kind_sums(account)) return;
  tx.execute_later(R"(
      INSERT INTO ledger_kind_days (account_id, day, kind, postings, credited, debited)
      VALUES ($1, $2, $3, 1, $4, $5)
      ON CONFLICT (account_id, day, kind)
      DO UPDATE SET postings = ledger_kind_days.postings + 1,
                    credited = ledger_kind_days.credited + excluded.credited,
                    debited = ledger_kind_days.debited + excluded.debited)",
                   account.id(), day, kind, amount > 0 ? amount : 0, amount < 0 ? -amount : 0);
}

void count_earlier_credits(db::Tx& tx, const Account& account, std::int64_t day,
                           std::int64_t amount) {
  bool has_row = false;
  {
    auto rows = tx.query(R"(
        UPDATE ledger_days
        SET credited = credited + $3
        WHERE account_id = $1 AND day >= $2
        RETURNING day)",
                         account.id(), day, amount);
    while (rows.next()) has_row |= rows.integer("day") == day;
  }
  if (has_row) return;
  const Totals before = totals_before(tx, account.id(), day);
  tx.execute(R"(
      INSERT INTO ledger_days (account_id, day, credited, debited)
      VALUES ($1, $2, $3, $4))",
             account.id(), day, before.credited + amount, before.debited);
}

void count_credits_of_kind(db::Tx& tx, const Account& account, std::int64_t day, std::int64_t kind,
                           std::int64_t postings, std::int64_t amount) {
  if (!has_kind_sums(account)) return;
  tx.execute_later(R"(
      INSERT INTO ledger_kind_days (account_id, day, kind, postings, credited, debited)
      SELECT CAST($1 AS text), CAST($2 AS bigint), k.kind, CAST($4 AS bigint), CAST($5 AS bigint), 0
      FROM ledger_kinds k
      WHERE k.number = $3
      ON CONFLICT (account_id, day, kind)
      DO UPDATE SET postings = ledger_kind_days.postings + excluded.postings,
                    credited = ledger_kind_days.credited + excluded.credited)",
                   account.id(), day, kind, postings, amount);
}

}  // namespace berth::ledger
