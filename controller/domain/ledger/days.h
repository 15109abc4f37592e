#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controller/domain/ledger/ledger.h"

// The ledger by UTC day, from rows that are written with the postings (ledger.h), so that reading
// them costs the same however many postings there are. Days are numbers of days since 1970, as
// utc_day() returns them; a posting belongs to the day of its transaction's time.
namespace berth::ledger {

// The most days that one call of history() returns.
inline constexpr std::int64_t max_history_days = 366;

struct Day {
  std::int64_t day = 0;
  std::int64_t credited = 0;  // what came to the account on this day
  std::int64_t debited = 0;   // what left it
  std::int64_t balance = 0;   // at the end of the day
};
// Returns one entry for each day from `first` to `last`, in their order, also for those on which
// nothing was posted. Throws std::logic_error for more than max_history_days days.
std::vector<Day> history(db::Tx& tx, const Account& account, std::int64_t first, std::int64_t last);

// The sums of all that was ever posted on an account.
struct Totals {
  std::int64_t credited = 0;
  std::int64_t debited = 0;

  bool operator==(const Totals&) const = default;
};
Totals totals(db::Tx& tx, const Account& account);

// What transactions of one kind posted on an account.
struct KindSum {
  std::int64_t postings = 0;
  std::int64_t credited = 0;
  std::int64_t debited = 0;

  bool operator==(const KindSum&) const = default;
};
// The sum over the days from `first` to `last`. The account must be that of an app, the treasury's,
// or issuance; of others there are no such sums.
KindSum sum_of_kind(db::Tx& tx, const Account& account, std::string_view kind, std::int64_t first,
                    std::int64_t last);

// The same sums of all kinds, by the kind, from one read of the rows.
std::map<std::string, KindSum, std::less<>> sums_of_kinds(db::Tx& tx, const Account& account,
                                                          std::int64_t first, std::int64_t last);

struct KindDay {
  std::int64_t day = 0;
  std::string kind;
  KindSum sum;
};
// All kinds on the days from `first` to `last`, ordered by day and kind. For the same accounts.
std::vector<KindDay> kinds(db::Tx& tx, const Account& account, std::int64_t first,
                           std::int64_t last);

// What was posted on an app's account, the treasury's or that of issuance on a day, by kind.
struct AccountDay {
  std::string account_id;  // as Account::id() returns it
  std::int64_t day = 0;
  std::int64_t credited = 0;
  std::int64_t debited = 0;
};
// Calls `take` with the sums of all these accounts on the days from `first` to `last`, the newest
// day first, each kind of transaction apart. Reads at most `most` rows of those days, however long
// the ledger is; returns false if there are more. On PostgreSQL, credits of the last moments may be
// missing.
bool each_account_day(db::Tx& tx, std::int64_t first, std::int64_t last, std::int64_t most,
                      const std::function<void(const AccountDay&)>& take);

}  // namespace berth::ledger
