#pragma once

#include <prometheus/registry.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/gate/failed_logins.h"
#include "api/gate/rate_limit.h"
#include "api/gate/success_event.h"
#include "controller/base/error.h"
#include "controller/base/security_event.h"

namespace berth::api {

// Writes log lines "security event" at the level info, and counts
// security_events_total{kind,reason}. So that a flood can't fill the disk, each kind of event that
// strangers can cause (is_limited()) gets at most `lines_per_minute` lines, of which each network
// gets `lines_of_network`; what was left out is reported in one line after the minute. The metrics
// count everything. A line names the user and the app of the thread's claimant (base/shares.h), if
// the event names none. Thread-safe.
class SecurityLog {
 public:
  using Time = RateLimiter::Time;
  static constexpr int lines_per_minute = 20;
  static constexpr Rate lines_of_network = per_minute(5);
  static constexpr size_t max_networks = 8'192;  // the number of networks that are remembered

  explicit SecurityLog(prometheus::Registry& registry);

  struct Request {
    std::string address;     // the caller's
    std::string_view route;  // the operation's name
    std::string_view request_id;
  };
  // Counts the event. Returns true if it also wrote a line.
  bool note(const SecurityEvent& event, const Request& request,
            Time now = std::chrono::steady_clock::now());
  // Writes one line for each kind that says how many events were left out in minutes that are over.
  // It is called from time to time, so that the line is written even if the flood has ended.
  // Returns the number of lines.
  int write_summaries(Time now = std::chrono::steady_clock::now());
  // Writes the audit log's entries of failed logins (FailedLogins::write()).
  int write_entries(db::Database& database) { return failed_logins_.write(database); }

 private:
  static constexpr size_t kinds = size_t(last_security_kind) + 1;
  struct Minute {
    Time began{};
    int lines = 0;
    std::uint64_t left_out = 0;
  };
  bool summarize(SecurityKind kind, Time now);
  bool take_line(SecurityKind kind, const std::string& network, Time now);

  prometheus::Family<prometheus::Counter>& events_;
  FailedLogins failed_logins_;
  RateLimiter networks_{Pool::logged_networks, max_networks};
  std::mutex mutex_;
  std::array<Minute, kinds> minutes_{};
};

// Returns the security log's entry for an error: the one in the error, or one that follows from its
// code. Returns nothing for errors that don't concern security.
std::optional<SecurityEvent> security_event_of(const Error& error);
// Returns the security log's entry for the success of an operation or of a form of the hosted
// pages, as its row says; nothing if it doesn't concern security, or if its handler notes it:
// logins, consents and devices, whose form may also have led to a question or a refusal.
std::optional<SecurityEvent> security_event_of_success(const SuccessEvent& event);
struct Route;
// The same for a route: each change by an admin is one.
std::optional<SecurityEvent> security_event_of_success(const Route& route);

}  // namespace berth::api
