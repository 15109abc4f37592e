#include "reconcilers/loops/mail.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "controller/base/log.h"

namespace berth::reconcilers {
namespace {

constexpr int batch = 50;             // read at once; the next batch follows immediately
constexpr int removed_at_once = 500;  // so that other writers aren't held up

prometheus::Counter& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

MailLoop::MailLoop(Parts parts, Options options)
    : parts_(std::move(parts)),
      options_(options),
      client_(parts_.server),
      sent_(counter(*parts_.registry, "berth_mail_sent_total",
                    "Mails that the mail server accepted")),
      failed_(counter(*parts_.registry, "berth_mail_failed_total", "Mails that failed for good")),
      retries_(counter(*parts_.registry, "berth_mail_retries_total",
                       "Attempts that failed and will be repeated")) {}

Loop MailLoop::loop() {
  return {.name = "mail",
          .interval = options_.poll,
          .round = [this](Round& round) { run_once(round); },
          .failure = "a round of the mail loop failed",
          .level = log::Level::error};
}

void MailLoop::run_once(Round& round) {
  if (SteadyClock::now() >= server_again_at_ && send_due(round) == ServerState::in_trouble)
    server_again_at_ = SteadyClock::now() + delay_before(++troubles_);
  clean_up();
}

// Stops at the first mail that shows that the server has a problem, because the rest would only
// fail, too.
MailLoop::ServerState MailLoop::send_due(Round& round) {
  std::atomic<SteadyClock::time_point> give_up_at = SteadyClock::time_point::max();
  const std::stop_callback stops(round.stop_token(),
                                 [&] { give_up_at = SteadyClock::now() + options_.last_mail; });
  for (;;) {
    const auto ids = parts_.database.read([](db::Tx& tx) { return outbox::due(tx, batch); });
    for (const std::string& id : ids) {
      if (round.is_stopping()) return ServerState::well;
      if (send(id, [&] { return SteadyClock::now() < give_up_at.load(); }) ==
          ServerState::in_trouble)
        return ServerState::in_trouble;
      troubles_ = 0;
    }
    if (int(ids.size()) < batch) break;
  }
  return ServerState::well;
}

MailLoop::ServerState MailLoop::send(const std::string& id,
                                     const std::function<bool()>& may_go_on) {
  const auto attempt = parts_.database.write([&](db::Tx& tx) {
    const int next = outbox::attempts(tx, id) + 1;
    // The next attempt is due only after this one has ended at the latest, so that another process
    // doesn't start it while this one runs.
    return outbox::begin_attempt(tx, parts_.data_key, id,
                                 tx.now() + parts_.server.timeout + delay_before(next));
  });
  if (!attempt) return ServerState::well;
  const std::string to = with_ascii_domain(attempt->letter.to);
  std::string text;
  try {
    text = compose({.id = attempt->id,
                    .from = parts_.from,
                    .to = to,
                    .subject = attempt->letter.subject,
                    .body = attempt->letter.body,
                    .date = attempt->created_at});
  } catch (const std::invalid_argument& refusal) {
    return settle(*attempt, {.verdict = MailVerdict::refused, .words = refusal.what()});
  }
  return settle(*attempt, client_.send(parts_.from.address, to, text, may_go_on));
}

MailLoop::ServerState MailLoop::settle(const outbox::Attempt& attempt, const MailAnswer& answer) {
  const bool is_sent = answer.verdict == MailVerdict::sent;
  const bool is_last =
      answer.verdict == MailVerdict::refused || attempt.number >= options_.max_attempts;
  parts_.database.write([&](db::Tx& tx) {
    if (is_sent)
      outbox::sent(tx, attempt.id);
    else if (is_last)
      outbox::failed(tx, attempt.id, answer.words);
    else
      outbox::postponed(tx, attempt.id, answer.words, tx.now() + delay_before(attempt.number));
  });
  (is_sent ? sent_ : is_last ? failed_ : retries_).Increment();
  // Never logs the address, since that would tell who has an account.
  log::write(is_sent ? log::Level::info : log::Level::warning,
             is_sent   ? "a mail was sent"
             : is_last ? "a mail couldn't be sent and has failed for good"
                       : "a mail couldn't be sent and will be tried again",
             {{"mail", attempt.id}, {"attempt", attempt.number}, {"answer", answer.words}});
  return answer.verdict == MailVerdict::unavailable ? ServerState::in_trouble : ServerState::well;
}

void MailLoop::clean_up() {
  const Instant now = parts_.clock.now();
  const bool any = parts_.database.read([&](db::Tx& tx) {
    return outbox::is_any_done(tx, now - options_.keep_sent, now - options_.keep_failed);
  });
  if (!any) return;
  parts_.database.write([&](db::Tx& tx) {
    outbox::remove_done(tx, now - options_.keep_sent, now - options_.keep_failed, removed_at_once);
  });
}

// A random time between half and all of first_retry · 2^(attempt-1), which is capped at
// longest_retry.
Duration MailLoop::delay_before(int attempt) {
  const int doublings = std::clamp(attempt - 1, 0, 20);
  const auto whole = std::min<std::int64_t>(options_.longest_retry.count(),
                                            options_.first_retry.count() << doublings);
  return Duration(std::uniform_int_distribution<std::int64_t>((whole + 1) / 2, whole)(random_));
}

}  // namespace berth::reconcilers
