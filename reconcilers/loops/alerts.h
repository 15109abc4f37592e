#pragma once

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/base/shares.h"
#include "controller/db/database.h"
#include "controller/domain/webhooks/alert_messages.h"
#include "controller/domain/webhooks/alerts.h"
#include "reconcilers/loops/webhook_sender.h"

namespace berth::reconcilers {

// Sends the messages of alerts for the loop of webhooks, with its sender, its limits and its
// intervals between attempts. A message to a chat or a webhook is a request like a delivery; mail
// goes into the outbox. Used by one thread at a time.
class AlertMessages {
 public:
  struct Parts {
    db::Database& database;
    const Clock& clock;
    std::string data_key;
    // berth's own URL, without a slash at its end; the links in messages lead there.
    std::string base_url;
    std::shared_ptr<prometheus::Registry> registry;
    // How long to wait before the attempt after this one, which is counted from 1.
    std::function<Duration(int attempt)> delay_before;
    Duration time_limit{0};     // of one request
    Duration longest_asked{0};  // the longest wait that a receiver can ask for
    int most_of_owner = 0;      // how many messages of an account are under way at a time
  };
  explicit AlertMessages(Parts parts);

  // The keys of requests for alerts are negative; those of deliveries aren't.
  static bool is_key(std::int64_t key) { return key < 0; }
  // Begins what is due, at most `room` messages, with places of the pool `shares`.
  void begin_due(WebhookSender& sender, Shares& shares, size_t room);
  // Records the answers to requests of alerts. If this throws, it is to be called again with all of
  // them.
  void settle(const std::vector<WebhookAnswer>& answers);

 private:
  struct UnderWay {
    alerts::Message message;
    Shares::Claim claim;
  };

  std::optional<alerts::Message> begin(db::Tx& tx, const std::string& alert_id) const;
  void put_letter(db::Tx& tx, const std::string& to, const alerts::Mail& mail) const;
  alerts::Settled put_mail(db::Tx& tx, const alerts::Message& message) const;
  void tell_of_end(db::Tx& tx, const alerts::Message& message, const std::string& reason) const;
  WebhookRequest request_of(std::int64_t key, const alerts::Message& message) const;
  Instant retry_at(Instant now, int attempt) const;
  void note(const alerts::Message& message, alerts::Settled settled, const std::string& error);

  const Parts parts_;
  prometheus::Counter& sent_;
  prometheus::Counter& retried_;
  prometheus::Counter& disabled_;
  std::int64_t last_key_ = 0;
  std::map<std::int64_t, UnderWay> under_way_;  // by the key of the request
  std::set<std::string> busy_;                  // the alerts whose message is under way
  std::map<std::string, int> of_owner_;         // the number under way, by the account
  std::vector<WebhookAnswer> failed_;           // of requests that couldn't be begun
};

}  // namespace berth::reconcilers
