#pragma once

#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/clock.h"

namespace berth {

// The HMAC keys of session JWTs: the first one signs, all of them verify, so that a new one can be
// put in front without logging anybody out. Thread-safe; a copy stands on its own.
class SessionKeys {
 public:
  struct Key {
    std::string id;  // `kid` (RFC 7515, section 4.1.4)
    std::string secret;
    // When another one took its place in front; sessions that it signed may live on.
    std::optional<Instant> retired_at = {};
  };
  using List = std::vector<Key>;

  SessionKeys() = default;
  SessionKeys(std::initializer_list<Key> keys) : keys_(std::make_shared<List>(keys)) {}
  explicit SessionKeys(List keys) : keys_(std::make_shared<List>(std::move(keys))) {}
  SessionKeys(const SessionKeys& other) : keys_(other.all()) {}
  SessionKeys& operator=(const SessionKeys& other) {
    if (this != &other) replace(*other.all());
    return *this;
  }

  std::shared_ptr<const List> all() const {
    const std::lock_guard lock(mutex_);
    return keys_;
  }
  Key operator[](size_t position) const { return all()->at(position); }
  void replace(List keys) {
    auto fresh = std::make_shared<const List>(std::move(keys));
    const std::lock_guard lock(mutex_);
    keys_ = std::move(fresh);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const List> keys_ = std::make_shared<List>();
};

// What berthd keeps secret and the database doesn't hold; main reads it from the data directory.
struct Keys {
  // AES-256 key for env_vars, registry credentials and mail that waits. 32 bytes.
  std::string data;
  SessionKeys session;
};

// `keys` with a new one in front. Those that were retired longer than a session can live are
// dropped: nothing that they signed is alive.
SessionKeys::List rotated(const SessionKeys::List& keys, Instant now, Duration session_lifetime);

}  // namespace berth
