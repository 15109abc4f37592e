#pragma once

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "controller/base/mail_text.h"
#include "controller/domain/kernel/loop.h"
#include "controller/domain/kernel/outbox.h"
#include "reconcilers/loops/smtp.h"

namespace berth::reconcilers {

// Sends the mail that waits in the outbox, one at a time, and deletes what is finished. A mail that
// the server refuses permanently has failed; after any other error it is tried again, at growing
// intervals, for about a day. A mail is marked as sent after the server has accepted it, so if
// berthd dies in between, it is sent once more with the same Message-ID.
class MailLoop {
 public:
  struct Parts {
    db::Database& database;
    const Clock& clock;
    std::string data_key;
    SmtpSettings server;
    Mailbox from;
    std::shared_ptr<prometheus::Registry> registry;
  };
  struct Options {
    // The wait doubles from the first to the longest, and half of each wait is random. 50 attempts
    // take about 21 hours; the links in mails are valid for at most 24 hours.
    Duration first_retry = std::chrono::seconds(10);
    Duration longest_retry = std::chrono::minutes(30);
    int max_attempts = 50;
    // A new mail is noticed within this time.
    std::chrono::milliseconds poll = std::chrono::seconds(1);
    // How long a mail that is being sent when berthd stops may still take.
    std::chrono::milliseconds last_mail = std::chrono::seconds(5);
    Duration keep_sent = std::chrono::hours(24);
    // Kept longer, so that an administrator can look at them.
    Duration keep_failed = std::chrono::days(7);
  };

  explicit MailLoop(Parts parts) : MailLoop(std::move(parts), Options()) {}
  MailLoop(Parts parts, Options options);

  // A round sends what is due. When berthd stops, the mail that is being sent is done after
  // `last_mail` at most.
  Loop loop();

 private:
  using SteadyClock = std::chrono::steady_clock;
  enum class ServerState { well, in_trouble };

  void run_once(Round& round);
  ServerState send_due(Round& round);
  ServerState send(const std::string& id, const std::function<bool()>& may_go_on);
  ServerState settle(const outbox::Attempt& attempt, const MailAnswer& answer);
  void clean_up();
  Duration delay_before(int attempt);

  Parts parts_;
  const Options options_;
  SmtpClient client_;
  prometheus::Counter& sent_;
  prometheus::Counter& failed_;
  prometheus::Counter& retries_;
  std::mt19937 random_{std::random_device{}()};
  int troubles_ = 0;  // consecutive failures of the server
  SteadyClock::time_point server_again_at_;
};

}  // namespace berth::reconcilers
