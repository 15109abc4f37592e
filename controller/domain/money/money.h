#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/ledger/ledger.h"

// Where the points of an app, and those of the platform, come from and go to. Amounts are points;
// days are UTC days, the present one included. Everything is read from sums that are kept by day
// (ledger/days.h), so it costs the same however long the ledger is.
namespace berth::money {

inline constexpr int default_days = 30;
inline constexpr int max_days_of_app = 365;
inline constexpr int max_days_of_platform = 31;  // each day is read for all apps

// What was posted on an account with one kind of transactions.
struct KindSum {
  std::string kind;
  std::int64_t movements = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
};

// The points that can't be spent because they are reserved: those of the account's open holds
// (ledger/holds.h), which are beside its balance, and those for what runs by the hour
// (ledger::held), which are a part of it.
std::int64_t held(db::Tx& tx, const ledger::Account& account);
std::int64_t held_in_all(db::Tx& tx);

// What the days before today say about the days to come.
struct Forecast {
  std::int64_t days = 0;  // over how many of them it is averaged
  std::int64_t in = 0;    // what came on these days
  std::int64_t out = 0;   // what left
  std::optional<std::int64_t> days_left =
      {};  // until nothing is left; empty if that isn't in sight
};
inline constexpr std::int64_t forecast_days = 7;  // the full days before today
// `balance` is 0 to ledger::max_points; `in` and `out` are sums of `days`, which is at least 1.
Forecast forecast(std::int64_t balance, std::int64_t days, std::int64_t in, std::int64_t out);

// A charge of a deployment that is to come.
struct Charge {
  std::string deployment_id;
  std::string name;
  std::int64_t amount = 0;
  Instant at;
};
struct Charges {
  std::optional<Charge> next = {};
  // The first one that the balance doesn't suffice for if no points come or go but for charges;
  // empty if that isn't within charges_looked_ahead.
  std::optional<Charge> first_unpaid = {};
};
inline constexpr Duration charges_looked_ahead = std::chrono::days(400);
// `first` has the next charge of each deployment, which repeats after billing::period_length.
Charges charges(std::int64_t balance, const std::vector<Charge>& first, Instant now);

struct OfApp {
  std::int64_t balance = 0;
  std::int64_t held = 0;
  std::int64_t earned = 0;  // in the window, less what was given back (points::earned_by)
  std::int64_t spent = 0;   // in the window: all that left the account but for refunds
  std::vector<KindSum> kinds;
  Forecast forecast;
  Charges charges;
};
OfApp of_app(db::Tx& tx, const std::string& app_id, int days);

// An app whose balance has changed much.
struct Mover {
  std::string app_id;
  std::optional<std::string> name;  // empty if the app was deleted
  std::int64_t in = 0;
  std::int64_t out = 0;
};
inline constexpr size_t max_movers = 10;
// The most rows of sums (an app, a day and a kind each) that are read; beyond them the movers are
// those of the newest days.
inline constexpr std::int64_t most_rows = 1'000'000;

struct OfPlatform {
  std::int64_t supply = 0;         // all points that exist
  std::int64_t treasury = 0;       // of them, the treasury's
  std::int64_t owed = 0;           // the others: what users and apps have, or is reserved for them
  std::int64_t held = 0;           // of these, what is reserved
  std::int64_t issued = 0;         // minted in the window
  std::int64_t supply_before = 0;  // at the beginning of the window
  std::int64_t owed_before = 0;
  std::vector<KindSum> treasury_kinds;  // in the window
  std::vector<Mover> movers;            // those with the most points in and out, the largest first
  bool complete = true;                 // whether all rows of the window were read
};
// Many rows; for a connection for heavy reads.
OfPlatform of_platform(db::Tx& tx, int days);

}  // namespace berth::money
