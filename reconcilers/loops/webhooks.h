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
#include <thread>

#include "controller/db/database.h"
#include "controller/domain/webhooks/webhooks.h"
#include "reconcilers/loops/webhook_sender.h"

namespace berth::reconcilers {

// Delivers what waits for webhooks: many at a time, some of one owner, few of one webhook, one of a
// subject. What
// isn't taken with a 2xx is tried again, later and later. A delivery is marked after the receiver
// took it: berthd that dies in between sends it once more, with the same event id.
class WebhookLoop {
 public:
  struct Parts {
    db::Database& database;
    const Clock& clock;
    std::string data_key;
    Reach reach = Reach::public_only;
    std::vector<AddressRange> closed = {};  // the cluster's own, where they are public
    // Of a deployment's host.
    std::function<std::string(const std::string& host)> url_of;
    std::string apps_domain;
    std::shared_ptr<prometheus::Registry> registry;
  };
  struct Options {
    // The wait doubles from the first to the longest, each with a jitter of a half.
    Duration first_retry = std::chrono::seconds(10);
    Duration longest_retry = std::chrono::hours(1);
    // Dead receivers take ten seconds each: there is room for many of them.
    size_t most_under_way = 128;
    // One owner's receivers, ten of each app, may all be dead: the others' don't wait for them.
    int most_of_owner = 32;
    int most_of_one = 4;
    std::chrono::milliseconds time_limit = WebhookSender::time_limit;
    // What becomes due by the time alone waits this long at most before it is seen.
    std::chrono::milliseconds poll = std::chrono::seconds(1);
    // What is under way when berthd stops gets this long.
    std::chrono::milliseconds last_answers = std::chrono::seconds(3);
  };

  explicit WebhookLoop(Parts parts) : WebhookLoop(std::move(parts), Options()) {}
  WebhookLoop(Parts parts, Options options);
  ~WebhookLoop();  // stops
  WebhookLoop(const WebhookLoop&) = delete;
  WebhookLoop& operator=(const WebhookLoop&) = delete;

  void start();
  void stop();
  // Something may be due. Never blocks; from any thread.
  void wake();

 private:
  void run(const std::stop_token& stop);
  void begin_due();
  std::optional<webhooks::Attempt> begin(db::Tx& tx, const webhooks::Due& due);
  WebhookRequest request_of(const webhooks::Attempt& attempt) const;
  void settle(const std::vector<WebhookAnswer>& answers);
  void note(const webhooks::Attempt& attempt, const WebhookAnswer& answer,
            webhooks::Settled settled);
  void clean_up();
  Duration delay_before(int attempt);

  Parts parts_;
  const Options options_;
  WebhookSender sender_;
  prometheus::Counter& delivered_;
  prometheus::Counter& failed_;
  prometheus::Counter& retries_;
  std::mt19937 random_{std::random_device{}()};
  std::map<std::int64_t, webhooks::Attempt> under_way_;  // by the delivery's row
  std::map<std::string, int> of_one_;                    // how many of them, by webhook
  std::map<std::string, int> of_owner_;                  // and by the owner of its app
  std::atomic<bool> looked_ = false;                     // nobody woke it since it looked
  std::jthread thread_;
};

// The body of a delivery: {id, type, created_at, data}.
std::string webhook_body(const webhooks::Attempt& attempt);
// The value of Berth-Signature: t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">.
std::string webhook_signature(const std::string& secret, const std::string& body, Instant now);

}  // namespace berth::reconcilers
