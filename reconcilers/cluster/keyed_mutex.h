#pragma once

#include <map>
#include <mutex>
#include <string>

namespace berth::reconcilers {

// A mutex for each text, made at its first use and gone after its last. Thread-safe.
class KeyedMutex {
  struct Entry {
    std::mutex mutex;
    int users = 0;
  };

 public:
  // Holds the key's mutex as long as it lives.
  class Lock {
   public:
    Lock(KeyedMutex& all, const std::string& key) : all_(all), key_(key), entry_(all.enter(key)) {
      entry_.mutex.lock();
    }
    ~Lock() {
      entry_.mutex.unlock();
      all_.leave(key_);
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    KeyedMutex& all_;
    const std::string key_;
    Entry& entry_;
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
  std::map<std::string, Entry> entries_;  // its entries stay where they are as others come and go
};

}  // namespace berth::reconcilers
