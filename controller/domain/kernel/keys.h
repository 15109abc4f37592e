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

// The HMAC keys of session JWTs. The first key signs and all keys verify, so a new key can be put
// first without logging anybody out. Thread-safe; a copy is independent of its original.
class SessionKeys {
 public:
  struct Key {
    std::string id;  // the header `kid` (RFC 7515, section 4.1.4)
    std::string secret;
    // When another key took its place at the front. Sessions that it signed may still be valid.
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

  // The present list, which doesn't change when replace() is called later.
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

// The secrets of berthd that aren't in the database. DataDir (berthd/data_dir.h) reads them.
struct Keys {
  // The data key, 32 bytes: the AES-256 key of what is stored encrypted, such as env_vars, TOTP
  // secrets and waiting mail, and the key of the HMACs that are stored, such as those of recovery
  // codes.
  std::string data;
  SessionKeys session;
};

// Returns `keys` with a new key at the front. Keys that were retired longer ago than a session
// lives are dropped, because nothing that they signed is still valid.
SessionKeys::List rotated(const SessionKeys::List& keys, Instant now, Duration session_lifetime);

}  // namespace berth
