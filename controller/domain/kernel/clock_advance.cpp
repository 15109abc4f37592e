#include "controller/domain/kernel/clock_advance.h"

#include <mutex>

#include "controller/domain/kernel/meta.h"

namespace berth::clock_advance {
namespace {

constexpr std::string_view key = "clock_ahead_ms";

}  // namespace

Duration store(db::Tx& tx, Duration by) {
  const Duration ahead = stored(tx) + by;
  meta::put(tx, key, std::to_string(ahead.count()));
  return ahead;
}

Duration stored(db::Tx& tx) { return Duration(std::stoll(meta::find(tx, key).value_or("0"))); }

void catch_up(Clock& clock, Duration ahead) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  if (const Duration now = clock.ahead(); now < ahead) clock.advance(ahead - now);
}

}  // namespace berth::clock_advance
