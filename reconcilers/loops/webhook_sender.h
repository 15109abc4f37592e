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

namespace berth::reconcilers {

// Who may be sent to.
enum class Reach { public_only, private_too };

struct WebhookRequest {
  std::int64_t key = 0;  // whose answer it is
  std::string url;       // http:// or https://
  std::vector<std::string> headers;
  std::string body;
};

struct WebhookAnswer {
  std::int64_t key = 0;
  std::optional<int> status = {};         // the receiver's
  std::optional<std::string> error = {};  // set: it didn't take it
};

// POSTs that run beside each other on one thread, so that a slow receiver holds up nobody. A 2xx is
// taken; everything else isn't, redirects among it, which aren't followed: they would be a way
// around the check of the address, which is made at each connect, on what the name resolved to.
// Bodies of answers are read over, and nothing depends on how they end. No proxy, no connection
// that was used before. Not thread-safe but for wake().
class WebhookSender {
 public:
  // From the first look-up to the answer's end.
  static constexpr std::chrono::seconds time_limit{10};

  // It doesn't go to `closed` addresses, whatever the reach is.
  WebhookSender(Reach reach, std::vector<AddressRange> closed,
                std::chrono::milliseconds limit = time_limit);
  ~WebhookSender();
  WebhookSender(const WebhookSender&) = delete;
  WebhookSender& operator=(const WebhookSender&) = delete;

  void send(WebhookRequest request);
  // Works on what is under way until some answers are there, somebody wakes it, or the time is
  // over.
  std::vector<WebhookAnswer> wait(std::chrono::milliseconds patience);
  void wake();
  size_t under_way() const { return transfers_.size(); }

 private:
  struct Transfer;
  void prepare(Transfer& transfer) const;
  std::vector<WebhookAnswer> collect();

  bool may_go_to(const sockaddr& address) const;

  const Reach reach_;
  const std::vector<AddressRange> closed_;
  const std::chrono::milliseconds limit_;
  std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi_;
  std::map<CURL*, std::unique_ptr<Transfer>> transfers_;
};

}  // namespace berth::reconcilers
