#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/domain/ledger/ledger.h"

// What the treasury gives away: for signing up, for bringing somebody, for live sessions, for
// learning, for looking at ads. Points come into being by minting alone, so that an empty treasury
// ends rewards and nothing else. Configuration: key `rewards`.
namespace berth::rewards {

struct Rules {
  std::int64_t referral = 50;
  std::int64_t session = 1;  // a live minute
  std::int64_t viewer = 1;   // an impression
  // Most points of a UTC day: of one user over all apps, of one owner over all his apps, of all.
  std::int64_t user_daily = 1'000;
  std::int64_t owner_daily = 100'000;
  std::int64_t total_daily = 10'000'000;
};

enum class Kind { signup, referral, session, learning, viewer };
std::string_view to_string(Kind kind);

struct Reward {
  Kind kind = Kind::session;
  std::string user_id;
  // Of the app that brings it, where one does: his apps together are capped.
  std::optional<std::string> app_owner_id;
  std::int64_t amount = 0;  // 0 pays nothing
  std::string memo;
};

enum class Refusal {
  none,
  nothing_due,
  email_not_verified,
  user_cap,
  owner_cap,
  total_cap,
  treasury_empty
};
std::string_view to_string(Refusal refusal);

struct Outcome {
  std::int64_t points = 0;  // what was paid: the amount, or 0
  Refusal refusal = Refusal::none;
};
// Gives it without a look at caps or address: whoever calls has his own. False where the treasury
// has less, or the amount is 0.
bool give(db::Tx& tx, const Reward& reward);
// Pays the whole amount from the treasury to the user, or nothing where the address isn't verified,
// a cap has no room for it, or the treasury has less; that never throws, since what brought the
// reward goes on. The user's account exists. The first refusal for want of points is logged, and
// the first payment after it.
Outcome pay(db::Tx& tx, const Rules& rules, const Reward& reward);

// How many rewards were refused for want of points since the start. Thread-safe.
std::uint64_t refused_for_empty_treasury();

}  // namespace berth::rewards
