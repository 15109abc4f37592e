#pragma once

#include <prometheus/registry.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/gate/rate_limit.h"
#include "controller/base/error.h"
#include "controller/base/security_event.h"

namespace berth::api {

// Log lines "security event" at info, and security_events_total{kind,reason}. A flood can't fill
// the disk: each kind gets `lines_per_minute` lines, each network `lines_of_network` of them, and
// what is left out is counted in one line behind the minute. The metrics count everything.
// Thread-safe.
class SecurityLog {
 public:
  using Time = RateLimiter::Time;
  static constexpr int lines_per_minute = 20;
  static constexpr Rate lines_of_network = per_minute(5);
  static constexpr size_t max_networks = 8'192;  // that are remembered

  explicit SecurityLog(prometheus::Registry& registry);

  struct Request {
    std::string address;     // of the caller
    std::string_view route;  // the operation's name
    std::string_view request_id;
  };
  // Counts the event. True where it also wrote a line.
  bool note(const SecurityEvent& event, const Request& request,
            Time now = std::chrono::steady_clock::now());
  // Writes how many events were left out in minutes that are over: one line for each kind. Called
  // now and then, so that the line comes even if the flood has ended. Returns how many lines.
  int write_summaries(Time now = std::chrono::steady_clock::now());

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
  RateLimiter networks_{max_networks};
  std::mutex mutex_;
  std::array<Minute, kinds> minutes_{};
};

// What the security log says of a refusal: what the error itself says, or what follows from its
// code. Nothing for those that don't concern it.
std::optional<SecurityEvent> security_event_of(const Error& error);
// And of what an operation, or the form of a page, has done by that name.
std::optional<SecurityEvent> security_event_of_success(std::string_view operation);

}  // namespace berth::api
