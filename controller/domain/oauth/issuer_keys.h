#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/jwk.h"
#include "controller/base/shares.h"
#include "controller/domain/oauth/issuers.h"

namespace berth::oauth {

// The public keys of issuers, in memory. Nothing is fetched until a token needs it. Thread-safe.
class IssuerKeys {
 public:
  // Keys are fetched anew once they are older than this.
  static constexpr Duration fresh_for = std::chrono::hours(1);
  // Older keys are used up to this age while the issuer doesn't answer.
  static constexpr Duration usable_for = std::chrono::hours(24);
  // An issuer is asked at most once in this time, whatever its callers show and whether or not it
  // answers, so that tokens with invented names of keys can't make berthd ask all the time.
  static constexpr Duration least_interval = std::chrono::seconds(60);
  // How many requests may wait for issuers, which keeps each from handling something else.
  static constexpr std::size_t max_waiting = 8;
  // How long a request waits for keys that another one fetches: two documents' time.
  static constexpr std::chrono::seconds longest_wait{10};

  // Returns the document at a URL; throws std::exception (base/document_fetch.h).
  using Fetch = std::function<std::string(const std::string& url)>;
  // `clock` has to outlive this object.
  IssuerKeys(const Clock& clock, Fetch fetch, IssuerSchemes schemes)
      : clock_(clock), fetch_(std::move(fetch)), schemes_(schemes) {}

  // Returns the issuer's key with this id; nothing if it has none. May take longest_wait, so no
  // transaction may be open. Throws unavailable if the keys can't be had at present, or too many
  // requests wait for keys already.
  std::optional<jwk::Key> find(const Issuer& issuer, const std::string& key_id);

 private:
  struct Known {
    std::vector<jwk::Key> keys;
    std::optional<Instant> fetched_at;  // the keys
    std::optional<Instant> asked_at;    // for them, with or without an answer
    bool is_asked = false;              // a request fetches them now
  };
  std::vector<jwk::Key> fetch(const Issuer& issuer) const;
  void refresh(std::unique_lock<std::mutex>& lock, const Issuer& issuer, Known& known);

  const Clock& clock_;
  const Fetch fetch_;
  const IssuerSchemes schemes_;
  Shares places_{Pool::issuer_keys, max_waiting};
  std::mutex mutex_;
  std::condition_variable fetched_;
  // By the issuer's row and its URLs: at most max_issuers are listed at a time, and a row that is
  // gone leaves some kilobytes until berthd is restarted.
  std::map<std::string, Known> known_;
};

}  // namespace berth::oauth
