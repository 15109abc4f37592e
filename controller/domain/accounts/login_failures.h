#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"

// Failed logins, counted for all berthd processes on a database together. A key names what is
// counted, such as an account or a network; the caller passes a hash of it. Rows are removed by the
// loop of expired rows (expiry.h).
namespace berth::accounts::login_failures {

// No window is longer.
inline constexpr Duration kept_for = std::chrono::hours(1);
// The rows that are kept at most, of about 100 bytes each; then the oldest ones go. Each attempt
// that leaves rows has cost the hash of a password.
inline constexpr int most_kept = 500'000;

struct Counter {
  std::string key_hash;
  int limit = 0;
  Duration window{0};  // at most kept_for
};

// Returns how long to wait until the first of these counters that is full has room; nothing if none
// is full.
std::optional<Duration> wait(db::Tx& tx, std::span<const Counter> counters);
// Counts a failure for each of them.
void count(db::Tx& tx, std::span<const Counter> counters);
// Takes back the newest failure of each of them.
void take_back(db::Tx& tx, std::span<const Counter> counters);
// Removes all failures of a key.
void forget(db::Tx& tx, const std::string& key_hash);

}  // namespace berth::accounts::login_failures
