#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/db/database.h"

namespace berth {

// Collects when each of many things was last used. That changes with every request, so the times
// are kept in memory and written from time to time by flush(). Thread-safe.
class UseLog {
 public:
  // The most things that are collected between two flushes, which bounds the memory. Further ones
  // are ignored.
  static constexpr size_t max_noted = 100'000;

  // `update` is the statement that writes one time; $1 is the id, $2 the time. The text must
  // outlive this object.
  explicit UseLog(std::string_view update) : update_(update) {}

  void note(const std::string& id, Instant at);
  // Returns the newest time that a snapshot of the database may lack: one that isn't written yet,
  // or was written by the latest flush.
  std::optional<Instant> last(const std::string& id) const;
  // Writes the collected times, in transactions of some hundred rows. Throws Error `unavailable`;
  // times that weren't written stay collected.
  void flush(db::Database& database);

 private:
  using Times = std::map<std::string, Instant>;

  const std::string_view update_;
  mutable std::mutex mutex_;
  Times noted_;
  Times written_;  // written by the latest flush
};

}  // namespace berth
