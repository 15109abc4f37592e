#pragma once

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <chrono>
#include <string>
#include <vector>

#include "controller/base/address_range.h"
#include "controller/domain/kernel/loop.h"
#include "controller/domain/oauth/logouts.h"
#include "reconcilers/loops/webhook_addresses.h"
#include "reconcilers/loops/webhook_sender.h"

namespace berth::reconcilers {

// Sends logout tokens to apps (controller/domain/oauth/logouts.h), with the webhooks' sender and
// its guard of addresses. One loop runs for each database. Used by one thread at a time.
class LogoutLoop {
 public:
  static constexpr std::string_view name = "logouts";
  // How many tokens a round sends at most, and to one app, so that slow apps hold the others up for
  // no longer than one request may take.
  static constexpr int most_of_round = 32;
  static constexpr int most_of_app = 4;
  // The pause after the first attempt; it doubles each time.
  static constexpr std::chrono::seconds first_retry{10};

  struct Parts {
    openid::Issuer issuer;
    Reach reach = Reach::public_only;
    std::vector<AddressRange> closed = {};  // as for WebhookAddresses
    std::chrono::milliseconds request_limit = WebhookSender::time_limit;
  };
  LogoutLoop(Parts parts, prometheus::Registry& registry);

  Loop loop();
  // Sends what is due, and waits for the answers. Throws Error `unavailable` if the database can't
  // be used; what was sent is sent again then.
  void run_once(Round& round);

 private:
  std::vector<logouts::Notice> begin(Round& round);
  std::vector<WebhookAnswer> send(Round& round, const std::vector<logouts::Notice>& notices) const;
  void settle(Round& round, const logouts::Notice& notice, const WebhookAnswer& answer);

  const Parts parts_;
  prometheus::Counter& delivered_;
  prometheus::Counter& retried_;
  prometheus::Counter& failed_;
};

}  // namespace berth::reconcilers
