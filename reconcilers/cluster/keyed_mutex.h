#pragma once

#include <map>
#include <mutex>
#include <string>

namespace berth::reconcilers {

// A mutex for each key. It is created when the key is first locked and freed when nobody uses it
// any more. Thread-safe.
class KeyedMutex {
  struct Entry {
    std::mutex mutex;
    int users = 0;
  };

 public:
  // Locks the mutex of `key` for the lifetime of this object; the constructor waits for it.
  class Lock {
   public:
    Lock(KeyedMutex& all, const std::string& key) : all_(all), key_(key), entry_(all.enter(key)) {
      entry_.mutex.lock();
    }
    // Doesn't wait: owns() says whether it is locked.
    Lock(KeyedMutex& all, const std::string& key, std::try_to_lock_t)
        : all_(all), key_(key), entry_(all.enter(key)), owns_(entry_.mutex.try_lock()) {}
    ~Lock() {
      if (owns_) entry_.mutex.unlock();
      all_.leave(key_);
    }
    bool owns() const { return owns_; }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    KeyedMutex& all_;
    const std::string key_;
    Entry& entry_;
    bool owns_ = true;
  };

 private:
  Entry& enter(const std::string& key) {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[key];
    ++entry.users;
    return entry;
  }

  void leave(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (--found->second.users == 0) entries_.erase(found);
  }

  std::mutex mutex_;
  // A std::map, because references to its entries stay valid when others are added or removed.
  std::map<std::string, Entry> entries_;
};

}  // namespace berth::reconcilers
