#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "controller/base/clock.h"
#include "controller/base/security_event.h"
#include "controller/db/database.h"

namespace berth::api {

// The entries of the audit log for attempts on known accounts that failed or were throttled:
// `login.failed`, `login.throttled` and `second_factor.failed`, with the account as target and as
// user_id. They are noted in memory and written later by a loop, so that an attempt on a known
// address takes no longer than one on an address without an account.
//
// Strangers cause them, so they are few: an account has one entry of each action for a network in
// an hour, and the limits below hold for each action in a day. What goes beyond is in the security
// log and its metrics alone (security_log.h). Thread-safe.
class FailedLogins {
 public:
  static constexpr Duration once_in = std::chrono::hours(1);
  static constexpr Duration limits_for = std::chrono::hours(24);
  static constexpr int entries_of_account = 20;
  static constexpr int entries_of_network = 50;
  // 3,000 entries a day of all actions together are about 1.1 GB in the 400 days that they stay.
  static constexpr int entries_of_all = 1'000;
  // How many attempts are in memory at most until they are written.
  static constexpr std::size_t most_noted = 1'000;

  // An event of another kind, or one that names no user, is ignored. `operation` is the operation's
  // or the form's name.
  void note(const SecurityEvent& event, const std::string& network, std::string_view operation,
            std::string_view request_id);
  // Writes the entries of what was noted. Returns how many it wrote. Throws what reads and writes
  // throw; then they are written by the next call.
  int write(db::Database& database);

 private:
  // The action, the user and the network.
  using Key = std::tuple<std::string_view, std::string, std::string>;
  struct Attempt {
    std::string reason;
    std::string operation;
    std::string request_id;
  };
  using Noted = std::map<Key, Attempt>;

  static Noted due(db::Tx& tx, const Noted& noted);

  std::mutex mutex_;
  Noted noted_;
};

}  // namespace berth::api
