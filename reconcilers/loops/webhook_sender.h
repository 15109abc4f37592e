#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/address_range.h"
#include "reconcilers/loops/webhook_addresses.h"

namespace berth::reconcilers {

struct WebhookRequest {
  std::int64_t key = 0;  // chosen by the caller, to match the answer to the request
  std::string url;       // http:// or https://
  std::vector<std::string> headers;
  std::string body;
};

struct WebhookAnswer {
  std::int64_t key = 0;
  std::optional<int> status = {};         // the receiver's HTTP status, if it sent one
  std::optional<std::string> error = {};  // set if the receiver didn't accept the request
  std::optional<std::chrono::seconds> retry_after = {};  // what its answer says
};

// Sends POST requests concurrently on one thread, so that a slow receiver holds up nobody. A 2xx
// counts as accepted, everything else doesn't. Redirects aren't followed, because they would bypass
// the check of the address (webhook_addresses.h); that check is made at each connect, on the
// address that the name resolved to. Answers' bodies are discarded, and it doesn't matter how they
// end. No proxy is used and no connection is reused. Not thread-safe, except for wake().
class WebhookSender {
 public:
  // The limit for one request, from the look-up of the name to the end of the answer.
  static constexpr std::chrono::seconds time_limit{10};

  // `reach` and `closed` are those of WebhookAddresses.
  WebhookSender(Reach reach, std::vector<AddressRange> closed,
                std::chrono::milliseconds limit = time_limit);
  ~WebhookSender();
  WebhookSender(const WebhookSender&) = delete;
  WebhookSender& operator=(const WebhookSender&) = delete;

  // Starts a request; its answer comes from wait().
  void send(WebhookRequest request);
  // Works on the requests that are under way until at least one answer has arrived, wake() is
  // called, or `patience` is over. Returns the answers.
  std::vector<WebhookAnswer> wait(std::chrono::milliseconds patience);
  // Ends a wait() early. May be called from any thread.
  void wake();
  // The number of requests that have no answer yet.
  size_t under_way() const { return transfers_.size(); }

 private:
  struct Transfer;
  void prepare(Transfer& transfer) const;
  std::vector<WebhookAnswer> collect();

  const WebhookAddresses addresses_;
  const std::chrono::milliseconds limit_;
  std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi_;
  std::map<CURL*, std::unique_ptr<Transfer>> transfers_;
};

}  // namespace berth::reconcilers
