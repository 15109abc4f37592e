#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/db/database.h"

namespace berth {

// The last use of a thing. The address is empty where it isn't kept.
struct Use {
  Instant at;
  std::string address = {};
};

// Collects when each of many things was last used, and from which address if that is kept. That
// changes with every request, so the uses are kept in memory and written from time to time by
// flush(). Thread-safe.
class UseLog {
 public:
  enum class Keeps { time, time_and_address };
  // The most things that are collected between two flushes, which bounds the memory. Further ones
  // are ignored.
  static constexpr size_t max_noted = 100'000;

  // `update` is the statement that writes one use; $1 is the id, $2 the time and, if it is kept, $3
  // the address. The text must outlive this object.
  explicit UseLog(std::string_view update, Keeps keeps = Keeps::time)
      : update_(update), keeps_(keeps) {}

  void note(const std::string& id, Instant at, const std::string& address = {});
  // Returns the newest time that a snapshot of the database may lack: one that isn't written yet,
  // or was written by the latest flush.
  std::optional<Instant> last(const std::string& id) const;
  // The same with the address.
  std::optional<Use> last_use(const std::string& id) const;
  // Writes the collected uses, in transactions of some hundred rows. Throws Error `unavailable`;
  // times that weren't written stay collected.
  void flush(db::Database& database);

 private:
  using Uses = std::map<std::string, Use>;

  const std::string_view update_;
  const Keeps keeps_;
  mutable std::mutex mutex_;
  Uses noted_;
  Uses written_;  // written by the latest flush
};

}  // namespace berth
