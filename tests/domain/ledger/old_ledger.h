#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/crypto.h"
#include "controller/db/sqlite/migrate.h"

// A database as a berthd before migration 0052 left it, with a ledger of two days, of which the
// first one is closed. Its accounts are user:u, user:v, app:a, treasury and issuance.
namespace berth::test {

inline const Instant old_first_day = *parse_iso8601("2026-01-30T00:00:00Z");

struct OldLeg {
  std::string from, to;
  std::int64_t amount = 0;
};
struct OldTransaction {
  std::string id, kind, memo;
  Instant at;
  std::vector<OldLeg> legs;
};

// A UUIDv7 of this time. Ids with a greater count sort before others of the same millisecond.
inline std::string old_id(Instant at, int count) {
  std::ostringstream text;
  text << std::hex << std::setfill('0') << std::setw(12) << to_millis(at) << "70008000"
       << std::setw(12) << 10'000 - count;
  std::string id = text.str();
  for (const size_t hyphen : {8, 13, 18, 23}) id.insert(hyphen, "-");
  return id;
}

// In the order in which they were posted: many in the same millisecond, one after the clock was set
// back, and one with two movements.
inline std::vector<OldTransaction> old_transactions() {
  using namespace std::chrono_literals;
  std::vector<OldTransaction> all;
  const auto add = [&](Instant at, const std::string& kind, std::vector<OldLeg> legs) {
    const int count = int(all.size());
    all.push_back({.id = old_id(at, count),
                   .kind = kind,
                   .memo = "memo " + std::to_string(count),
                   .at = at,
                   .legs = std::move(legs)});
  };
  const Instant second_day = old_first_day + 24h;
  add(old_first_day + 10h, "mint", {{"issuance", "user:u", 1'000}});
  add(old_first_day + 10h, "mint", {{"issuance", "treasury", 1'000}});
  for (int i = 0; i < 10; ++i) add(old_first_day + 11h, "spend", {{"user:u", "app:a", 10 + i}});
  add(old_first_day + 10h + 59min, "transfer", {{"user:u", "user:v", 5}});
  add(old_first_day + 12h, "campaign", {{"user:u", "app:a", 3}, {"user:u", "treasury", 2}});
  for (int i = 0; i < 20; ++i) {
    add(second_day + 1h + i * 1min, "spend", {{"user:u", "app:a", 1 + i}});
    if (i % 4 == 0) add(second_day + 1h + i * 1min, "session_reward", {{"treasury", "user:u", 7}});
  }
  return all;
}

// The hash of a closed day as an older berthd made it.
inline std::string old_hash(std::vector<OldTransaction> transactions) {
  std::ranges::sort(transactions, {}, &OldTransaction::id);
  std::string hash;
  for (const OldTransaction& one : transactions) {
    std::string text = one.id + "\n" + one.kind + "\n" + std::to_string(to_millis(one.at));
    for (const OldLeg& leg : one.legs)
      text += "\n" + leg.from + "\n-" + std::to_string(leg.amount) + "\n" + leg.to + "\n" +
              std::to_string(leg.amount);
    hash = hex(sha256(hash + "\n" + text));
  }
  return hash;
}

inline void close_old_day(SQLite::Database& database, std::int64_t day) {
  std::vector<OldTransaction> of_day = old_transactions();
  std::erase_if(of_day, [&](const OldTransaction& one) { return utc_day(one.at) != day; });
  std::int64_t postings = 0, moved = 0;
  for (const OldTransaction& one : of_day)
    for (const OldLeg& leg : one.legs) {
      postings += 2;
      moved += leg.amount;
    }
  const std::string hash = old_hash(of_day);
  const std::string sums = std::to_string(of_day.size()) + "\n" + std::to_string(postings) + "\n" +
                           std::to_string(moved) + "\n" + hash;
  const std::string chain = hex(sha256("\n" + std::to_string(day) + "\n" + sums));
  SQLite::Statement insert(database,
                           "INSERT INTO ledger_closed_days (day, closed_at, transactions, "
                           "postings, moved, hash, chain) VALUES (?, 0, ?, ?, ?, ?, ?)");
  SQLite::bind(insert, day, std::int64_t(of_day.size()), postings, moved, hash, chain);
  insert.exec();
}

inline void add_old_transaction(SQLite::Database& database, const OldTransaction& one) {
  SQLite::Statement transaction(
      database, "INSERT INTO ledger_transactions (id, kind, memo, at) VALUES (?, ?, ?, ?)");
  SQLite::bind(transaction, one.id, one.kind, one.memo, to_millis(one.at));
  transaction.exec();
  SQLite::Statement posting(database,
                            "INSERT INTO ledger_postings (transaction_id, account_id, amount, "
                            "kind, at) VALUES (?, ?, ?, ?, ?)");
  for (const OldLeg& leg : one.legs)
    for (const auto& [account, amount] : {std::pair(leg.from, -leg.amount), {leg.to, leg.amount}}) {
      posting.reset();
      SQLite::bind(posting, one.id, account, amount, one.kind, to_millis(one.at));
      posting.exec();
    }
}

// Writes the database.
inline void make_old_ledger(const std::filesystem::path& file) {
  std::vector<EmbeddedFile> older = db::sqlite::migrations::files();
  std::erase_if(older, [](const EmbeddedFile& one) { return one.name >= "0052"; });
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("PRAGMA foreign_keys = ON");
  db::sqlite::migrate(database, old_first_day, older);
  SQLite::Transaction all(database);
  database.exec(R"(
      INSERT INTO ledger_accounts (id, kind, owner)
      VALUES ('user:u', 'user', 'u'), ('user:v', 'user', 'v'), ('app:a', 'app', 'a'),
             ('treasury', 'treasury', ''), ('issuance', 'issuance', ''))");
  for (const OldTransaction& one : old_transactions()) add_old_transaction(database, one);
  database.exec(R"(
      INSERT INTO ledger_kind_days
        SELECT p.account_id, p.at / 86400000, p.kind, count(*), sum(max(p.amount, 0)),
               sum(max(-p.amount, 0))
        FROM ledger_postings p
        JOIN ledger_accounts a ON a.id = p.account_id
        WHERE a.kind <> 'user'
        GROUP BY 1, 2, 3;
      INSERT INTO ledger_days
        SELECT account_id, day, sum(credited) OVER (PARTITION BY account_id ORDER BY day),
               sum(debited) OVER (PARTITION BY account_id ORDER BY day)
        FROM (SELECT account_id, at / 86400000 AS day, sum(max(amount, 0)) AS credited,
                     sum(max(-amount, 0)) AS debited
              FROM ledger_postings
              GROUP BY 1, 2);
      UPDATE ledger_accounts
      SET credited = coalesce((SELECT max(d.credited) FROM ledger_days d WHERE d.account_id = id), 0),
          debited = coalesce((SELECT max(d.debited) FROM ledger_days d WHERE d.account_id = id), 0);
      UPDATE ledger_accounts SET balance = credited - debited;)");
  close_old_day(database, utc_day(old_first_day));
  all.commit();
}

}  // namespace berth::test
