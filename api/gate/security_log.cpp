#include "api/gate/security_log.h"

#include <prometheus/counter.h>

#include <algorithm>

#include "api/gate/encode.h"
#include "api/gate/route.h"
#include "controller/base/log.h"
#include "controller/base/shares.h"
#include "controller/domain/accounts/sessions.h"

namespace berth::api {
namespace {

constexpr std::chrono::seconds minute{60};

// The series that exist from the start with the value 0. If a series appeared with its first event,
// the function rate() of Prometheus would miss that event.
const SecurityEvent from_zero[] = {
    {.kind = SecurityKind::login_failed, .reason = "wrong_password"},
    {.kind = SecurityKind::login_failed, .reason = "unknown_account"},
    {.kind = SecurityKind::login_failed, .reason = "account_suspended"},
    {.kind = SecurityKind::login_throttled, .reason = "password"},
    {.kind = SecurityKind::login_throttled, .reason = "code"},
    {.kind = SecurityKind::second_factor_failed, .reason = "wrong_code"},
    {.kind = SecurityKind::internal_secret_rejected, .reason = "wrong"},
    {.kind = SecurityKind::internal_secret_rejected, .reason = "throttled"},
};

prometheus::Counter& series(prometheus::Family<prometheus::Counter>& events,
                            const SecurityEvent& event) {
  return events.Add(
      {{"kind", std::string(name(event.kind))}, {"reason", std::string(event.reason)}});
}

}  // namespace

SecurityLog::SecurityLog(prometheus::Registry& registry)
    : events_(
          prometheus::BuildCounter()
              .Name("security_events_total")
              .Help("Failed logins, rejected tokens and other security events, by kind and reason.")
              .Register(registry)) {
  for (const SecurityEvent& event : from_zero) series(events_, event);
}

// Ends the kind's minute if it is over, and logs how many events were left out in it. Returns
// whether it wrote a line. The caller holds the mutex.
bool SecurityLog::summarize(SecurityKind kind, Time now) {
  Minute& current = minutes_[size_t(kind)];
  if (now - current.began < minute) return false;
  const std::uint64_t left_out = current.left_out;
  current = {.began = now};
  if (left_out == 0) return false;
  log::info("security events were left out of the log",
            {{"kind", name(kind)}, {"count", left_out}});
  return true;
}

bool SecurityLog::take_line(SecurityKind kind, const std::string& network, Time now) {
  const std::string key = std::string(name(kind)) + " " + network;
  const std::lock_guard lock(mutex_);
  summarize(kind, now);
  Minute& current = minutes_[size_t(kind)];
  if (current.lines < lines_per_minute && networks_.take(key, lines_of_network, now).allowed) {
    ++current.lines;
    return true;
  }
  ++current.left_out;
  return false;
}

bool SecurityLog::note(const SecurityEvent& event, const Request& request, Time now) {
  series(events_, event).Increment();
  const std::string network = accounts::network_of(request.address);
  failed_logins_.note(event, network, request.route, request.request_id);
  if (is_limited(event.kind) && !take_line(event.kind, network, now)) return false;
  const Claimant& claimant = Claimant::of_thread();
  log::info("security event",
            {{"kind", name(event.kind)},
             {"reason", event.reason},
             {"token_kind", text_or_null(event.token_kind)},
             {"address", request.address},
             {"user", text_or_null(event.user_id.empty() ? claimant.account : event.user_id)},
             {"app", text_or_null(claimant.app)},
             {"route", request.route},
             {"request_id", request.request_id}});
  return true;
}

int SecurityLog::write_summaries(Time now) {
  const std::lock_guard lock(mutex_);
  int lines = 0;
  for (size_t kind = 0; kind < kinds; ++kind)
    if (summarize(SecurityKind(kind), now)) ++lines;
  return lines;
}

std::optional<SecurityEvent> security_event_of(const Error& error) {
  if (error.event) return error.event;
  switch (error.code) {
    case Code::invalid_credentials:
      return SecurityEvent{.kind = SecurityKind::login_failed, .reason = "wrong_password"};
    case Code::account_suspended:
      return SecurityEvent{.kind = SecurityKind::login_failed, .reason = "account_suspended"};
    case Code::invalid_totp:
      return SecurityEvent{.kind = SecurityKind::second_factor_failed, .reason = "wrong_code"};
    case Code::invalid_client:
      return SecurityEvent{.kind = SecurityKind::client_rejected, .reason = "wrong_secret"};
    default:
      break;
  }
  constexpr int refused = 403;
  if (status(error.code) != refused) return std::nullopt;
  return SecurityEvent{.kind = SecurityKind::access_refused, .reason = name(error.code)};
}

std::optional<SecurityEvent> security_event_of_success(const SuccessEvent& event) {
  if (event.reason.empty()) return std::nullopt;
  return SecurityEvent{.kind = event.kind, .reason = event.reason};
}

std::optional<SecurityEvent> security_event_of_success(const Route& route) {
  if (route.guards.access.kind == Access::Kind::internal && route.method() != "GET")
    return SecurityEvent{.kind = SecurityKind::admin_action, .reason = route.name};
  return security_event_of_success(route.event);
}

}  // namespace berth::api
