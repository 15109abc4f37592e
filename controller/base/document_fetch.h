#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace berth {

// Gets small documents from other servers, such as an issuer's keys. Redirects aren't followed, no
// proxy is used and no connection is kept, as for webhooks (reconcilers/loops/webhook_sender.h).
// Thread-safe.
class DocumentFetch {
 public:
  // A whole exchange, from the look-up of the name to the end of the document.
  static constexpr std::chrono::seconds default_time_limit{5};
  static constexpr std::size_t max_bytes = std::size_t(256) * 1024;

  // `allows` is asked with the address that a connection is made to, so that a name that resolves
  // to another address a moment later changes nothing.
  explicit DocumentFetch(std::function<bool(const sockaddr&)> allows,
                         std::chrono::milliseconds time_limit = default_time_limit)
      : allows_(std::move(allows)), time_limit_(time_limit) {}

  // Returns the document at `url`, which is https:// or http://. Throws std::runtime_error, whose
  // text ends a sentence and doesn't name the address, if the address isn't allowed, the answer
  // isn't 200, the document is larger than max_bytes, or it takes too long.
  std::string get(const std::string& url) const;

 private:
  std::function<bool(const sockaddr&)> allows_;
  std::chrono::milliseconds time_limit_;
};

}  // namespace berth
