#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/db/database.h"

namespace berth {

// When each of many things was last used. It changes with every request, so it is kept in memory
// and written now and then (see flush()). Thread-safe.
class UseLog {
 public:
  // Above it those that aren't in it yet are left out until the next flush: memory is bounded.
  static constexpr size_t max_noted = 100'000;

  // `update`: the statement that writes one; $1 is the id, $2 the time. It must live as long.
  explicit UseLog(std::string_view update) : update_(update) {}

  void note(const std::string& id, Instant at);
  // The newest time that a snapshot may not have: not written yet, or by the latest flush.
  std::optional<Instant> last(const std::string& id) const;
  // Writes what was noted, in transactions of some hundred rows. Throws Error unavailable; then
  // what isn't written is noted still.
  void flush(db::Database& database);

 private:
  using Times = std::map<std::string, Instant>;

  const std::string_view update_;
  mutable std::mutex mutex_;
  Times noted_;
  Times written_;  // by the latest flush
};

}  // namespace berth
