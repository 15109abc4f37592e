#pragma once

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "controller/base/shares.h"
#include "controller/domain/kernel/loop.h"
#include "controller/domain/webhooks/webhooks.h"
#include "reconcilers/loops/alerts.h"
#include "reconcilers/loops/webhook_sender.h"

namespace berth::reconcilers {

// Delivers events to webhooks: many at a time, but a limited number for each owner and each
// webhook, and one for each subject; an owner has a share (base/shares.h) of those under way. A
// delivery that isn't answered with a 2xx is tried again at growing intervals. It is marked as
// delivered after the receiver has accepted it, so if berthd dies in between, it is sent once more
// with the same event id. The messages of alerts (alerts.h) go the same way, in the places that
// deliveries leave.
class WebhookLoop {
 public:
  struct Parts {
    db::Database& database;
    const Clock& clock;
    std::string data_key;
    Reach reach = Reach::public_only;
    std::vector<AddressRange> closed = {};  // the cluster's own addresses, if they are public
    // Makes the public URL of a deployment from its host name.
    std::function<std::string(const std::string& host)> url_of;
    std::string apps_domain;
    std::string base_url = {};  // berth's own, without a slash at its end
    std::shared_ptr<prometheus::Registry> registry;
  };
  struct Options {
    // The wait doubles from the first to the longest, and half of each wait is random.
    Duration first_retry = std::chrono::seconds(10);
    Duration longest_retry = std::chrono::hours(1);
    // The longest wait that a receiver's Retry-After can bring about.
    Duration longest_asked = std::chrono::hours(24);
    // A dead receiver takes up a place for ten seconds, so there is room for many of them.
    size_t most_under_way = 128;
    // An owner may have many apps with ten webhooks each, all of them dead; other owners'
    // deliveries don't wait for those.
    int most_of_owner = 32;
    // The limit for one webhook.
    int most_of_one = 4;
    std::chrono::milliseconds time_limit = WebhookSender::time_limit;
    // A delivery that becomes due merely with time is noticed within this time.
    std::chrono::milliseconds poll = std::chrono::seconds(1);
    // How long deliveries that are under way when berthd stops may still take.
    std::chrono::milliseconds last_answers = std::chrono::seconds(3);
  };

  explicit WebhookLoop(Parts parts) : WebhookLoop(std::move(parts), Options()) {}
  WebhookLoop(Parts parts, Options options);

  // A round waits until something is due or answered. At its end, the loop waits for those under
  // way.
  Loop loop();
  // Tells the loop that something may be due. Never blocks; may be called from any thread.
  void wake();

 private:
  using SteadyClock = std::chrono::steady_clock;

  void run_once(Round& round);
  void finish();
  size_t room() const;  // how many more may be under way
  void begin_due();
  std::optional<webhooks::Attempt> begin(db::Tx& tx, const webhooks::Due& due);
  WebhookRequest request_of(const webhooks::Attempt& attempt) const;
  // Keeps answers until settle() has recorded them. A database that refuses a write for a moment
  // costs none.
  void keep(std::vector<WebhookAnswer> answers);
  void settle();
  void settle_deliveries();
  void note(const webhooks::Attempt& attempt, const WebhookAnswer& answer,
            webhooks::Settled settled);
  // Removes some of what is too old. Returns whether that was all: while it isn't, it is
  // called more often, because each spend may be an event and ten deliveries.
  bool clean_up();
  Duration delay_before(int attempt);

  Parts parts_;
  const Options options_;
  WebhookSender sender_;
  prometheus::Counter& delivered_;
  prometheus::Counter& failed_;
  prometheus::Counter& retries_;
  std::mt19937 random_{std::random_device{}()};
  std::map<std::int64_t, webhooks::Attempt> under_way_;  // by the row of the delivery
  std::vector<WebhookAnswer> unsettled_;                 // answers that aren't recorded yet
  std::vector<WebhookAnswer> unsettled_alerts_;          // the same of alerts
  std::map<std::string, int> of_one_;                    // the number under way, by webhook
  std::map<std::string, int> of_owner_;                  // the number under way, by the app's owner
  Shares shares_{Pool::webhook_deliveries, options_.most_under_way};
  // The claims of the deliveries under way, by their rows.
  std::map<std::int64_t, Shares::Claim> claims_;
  AlertMessages alerts_;
  // wake() hasn't been called since the loop last looked for work.
  std::atomic<bool> looked_ = true;
  SteadyClock::time_point clean_at_;
};

// The JSON body of a delivery: {id, type, created_at, data}.
std::string webhook_body(const webhooks::Attempt& attempt);
// The value of the Berth-Signature header: t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">. It
// is deprecated: receivers should verify webhook-signature, and a later release will remove it.
std::string berth_signature(const std::string& secret, const std::string& body, Instant now);
// The headers webhook-id, webhook-timestamp and webhook-signature of the Standard Webhooks
// specification 1.0.0, as lines. Secrets that were made before berth followed it have their key in
// base64url without padding, which is read, too.
std::vector<std::string> standard_webhook_headers(const std::string& secret,
                                                  const std::string& event_id,
                                                  const std::string& body, Instant now);

}  // namespace berth::reconcilers
