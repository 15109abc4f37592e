#include "api/gate/container_sessions.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>

#include <chrono>
#include <utility>

#include "controller/base/error.h"

namespace berth::api {
namespace {

constexpr std::chrono::seconds retry_after{15};

Error no_session_left(Code code, const std::string& message) {
  Error refusal(code, message);
  refusal.retry_after = retry_after;
  return refusal;
}

}  // namespace

ContainerSessions::ContainerSessions(prometheus::Registry* registry, Limits limits)
    : limits_(limits), shares_(Pool::container_sessions, limits.sessions) {
  if (registry == nullptr) return;
  auto& open = prometheus::BuildGauge()
                   .Name("berth_container_sessions_open")
                   .Help("Commands in containers, and connections to their ports, that are open.")
                   .Register(*registry);
  auto& all = prometheus::BuildCounter()
                  .Name("berth_container_sessions_total")
                  .Help(
                      "Commands in containers, and connections to their ports, that were asked "
                      "for, by what came of it: opened or refused.")
                  .Register(*registry);
  for (const auto kind : {exec::SessionKind::exec, exec::SessionKind::port_forward}) {
    const std::string name(to_string(kind));
    of(kind) = {.open = &open.Add({{"kind", name}}),
                .opened = &all.Add({{"kind", name}, {"outcome", "opened"}}),
                .refused = &all.Add({{"kind", name}, {"outcome", "refused"}})};
  }
}

void ContainerSessions::refused(exec::SessionKind kind) {
  if (auto* counter = of(kind).refused) counter->Increment();
}

ContainerSessions::Permit::Permit(ContainerSessions& sessions, exec::SessionKind kind,
                                  std::string account)
    : sessions_(sessions),
      kind_(kind),
      account_(std::move(account)),
      claim_(sessions.shares_, Claimant::of_thread()) {
  const Shares::Taken taken = claim_.take();
  if (taken == Shares::Taken::full)
    throw no_session_left(
        Code::unavailable,
        "too many sessions in containers are open at the moment; try again later");
  if (taken == Shares::Taken::over_share)
    throw no_session_left(Code::rate_limited,
                          "few sessions in containers are left, and your account or network has "
                          "its share of them; try again later");
  const std::lock_guard lock(sessions_.mutex_);
  std::size_t& held = sessions_.accounts_[account_].sessions;
  if (held >= sessions_.limits_.of_account)
    throw no_session_left(Code::rate_limited,
                          "at most " + std::to_string(sessions_.limits_.of_account) +
                              " sessions in containers of one account may be open at once");
  ++held;
}

ContainerSessions::Permit::~Permit() {
  if (auto* gauge = sessions_.of(kind_).open; gauge != nullptr && is_open_) gauge->Decrement();
  const std::lock_guard lock(sessions_.mutex_);
  const auto held = sessions_.accounts_.find(account_);
  if (--held->second.sessions == 0) sessions_.accounts_.erase(held);
}

void ContainerSessions::Permit::opened() {
  is_open_ = true;
  const Series& series = sessions_.of(kind_);
  if (series.open != nullptr) series.open->Increment();
  if (series.opened != nullptr) series.opened->Increment();
}

ContainerSessions::Opening::Opening(ContainerSessions& all, const std::string& of_account)
    : sessions(all), account(of_account) {
  const std::lock_guard lock(sessions.mutex_);
  std::size_t& own = sessions.accounts_.at(account).opening;
  // A container can keep connections to its ports waiting.
  if (own >= sessions.limits_.opening_of_account)
    throw no_session_left(Code::rate_limited,
                          "at most " + std::to_string(sessions.limits_.opening_of_account) +
                              " sessions in containers of one account may be opened at once");
  if (sessions.opening_ >= sessions.limits_.opening)
    throw no_session_left(
        Code::unavailable,
        "too many sessions in containers are being opened at the moment; try again later");
  ++sessions.opening_;
  ++own;
}

ContainerSessions::Opening::~Opening() {
  const std::lock_guard lock(sessions.mutex_);
  --sessions.opening_;
  --sessions.accounts_.at(account).opening;
}

}  // namespace berth::api
