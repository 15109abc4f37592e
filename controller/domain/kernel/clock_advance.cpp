#include "controller/domain/kernel/clock_advance.h"

#include "controller/domain/kernel/meta.h"

namespace berth::clock_advance {
namespace {

constexpr std::string_view key = "clock_ahead_ms";

}  // namespace

void store(db::Tx& tx, Duration by) {
  meta::put(tx, key, std::to_string((stored(tx) + by).count()));
}

Duration stored(db::Tx& tx) { return Duration(std::stoll(meta::find(tx, key).value_or("0"))); }

}  // namespace berth::clock_advance
