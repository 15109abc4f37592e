#include "reconcilers/loops/logouts.h"

#include <algorithm>
#include <stop_token>

#include "controller/base/log.h"
#include "controller/base/url.h"

namespace berth::reconcilers {
namespace {

prometheus::Family<prometheus::Counter>& logout_counters(prometheus::Registry& registry) {
  return prometheus::BuildCounter()
      .Name("berth_logout_attempts_total")
      .Help(
          "Attempts to tell apps that a session has ended, by result: delivered, retried or "
          "failed for good")
      .Register(registry);
}

// Whether the app says that it won't ever take the token. An answer that asks for time doesn't, and
// neither does one of a server that isn't well.
bool is_refused_for_good(const WebhookAnswer& answer) {
  constexpr int request_timeout = 408, too_many_requests = 429;
  return answer.status && *answer.status >= 400 && *answer.status < 500 &&
         *answer.status != request_timeout && *answer.status != too_many_requests;
}

}  // namespace

LogoutLoop::LogoutLoop(Parts parts, prometheus::Registry& registry)
    : parts_(std::move(parts)),
      delivered_(logout_counters(registry).Add({{"outcome", "delivered"}})),
      retried_(logout_counters(registry).Add({{"outcome", "retried"}})),
      failed_(logout_counters(registry).Add({{"outcome", "failed"}})) {}

Loop LogoutLoop::loop() {
  return {.name = std::string(name),
          .interval = std::chrono::seconds(1),
          .lease = "logouts",
          .round = [this](Round& round) { run_once(round); },
          .failure = "apps couldn't be told of ended sessions"};
}

void LogoutLoop::run_once(Round& round) {
  const auto notices = begin(round);
  if (notices.empty()) return;
  for (const WebhookAnswer& answer : send(round, notices)) {
    const auto notice = std::ranges::find(notices, answer.key, &logouts::Notice::id);
    settle(round, *notice, answer);
  }
}

// Begins the attempts that are due, and drops notices that have nothing to send.
std::vector<logouts::Notice> LogoutLoop::begin(Round& round) {
  const auto due =
      round.read([](db::Tx& tx) { return logouts::due(tx, most_of_round, most_of_app); });
  if (due.empty()) return {};
  return round.write([&](db::Tx& tx) {
    std::vector<logouts::Notice> begun;
    for (const logouts::Notice& notice : due) {
      if (notice.url.empty()) {
        logouts::forget(tx, notice.id);
        continue;
      }
      // The next attempt is counted from the latest time at which this one can end.
      const Duration pause = first_retry * (1 << std::min(notice.attempts, logouts::max_attempts));
      if (logouts::begin_attempt(tx, notice.id, tx.now() + parts_.request_limit + pause))
        begun.push_back(notice);
    }
    return begun;
  });
}

// The tokens are made here, and not when the notices are written, because they live for two
// minutes only.
std::vector<WebhookAnswer> LogoutLoop::send(Round& round,
                                            const std::vector<logouts::Notice>& notices) const {
  WebhookSender sender(parts_.reach, parts_.closed, parts_.request_limit);
  const std::stop_callback wakes(round.stop_token(), [&] { sender.wake(); });
  const auto tokens = round.read([&](db::Tx& tx) {
    std::vector<std::string> all;
    for (const logouts::Notice& notice : notices)
      all.push_back(logouts::logout_token(tx, notice, parts_.issuer));
    return all;
  });
  for (std::size_t i = 0; i < notices.size(); ++i)
    sender.send({.key = notices[i].id,
                 .url = notices[i].url,
                 .headers = {"Content-Type: application/x-www-form-urlencoded", "Expect:"},
                 .body = "logout_token=" + percent_encode(tokens[i])});
  std::vector<WebhookAnswer> answers;
  while (sender.under_way() > 0 && !round.is_stopping())
    for (WebhookAnswer& answer : sender.wait(parts_.request_limit))
      answers.push_back(std::move(answer));
  return answers;
}

// Never logs the address: it may contain something that only the app should know.
void LogoutLoop::settle(Round& round, const logouts::Notice& notice, const WebhookAnswer& answer) {
  const bool is_over =
      !answer.error || is_refused_for_good(answer) || notice.attempts + 1 >= logouts::max_attempts;
  if (is_over) round.write([&](db::Tx& tx) { logouts::forget(tx, notice.id); });
  (!answer.error ? delivered_ : is_over ? failed_ : retried_).Increment();
  if (!answer.error) return;
  log::info(
      is_over ? "an app couldn't be told that a session has ended"
              : "an app couldn't be told that a session has ended yet",
      {{"client", notice.client_id}, {"attempt", notice.attempts + 1}, {"error", *answer.error}});
}

}  // namespace berth::reconcilers
