#include "controller/domain/kernel/eraser.h"

namespace berth::eraser {

int run(db::Tx& tx, std::span<const Erase> all, const std::string& id, int limit) {
  int erased = 0;
  for (const Erase erase : all)
    if (erased < limit) erased += erase(tx, id, limit - erased);
  return erased;
}

int run(db::Tx& tx, const Things& things, const std::string& user_id, int limit) {
  int erased = 0;
  while (erased < limit) {
    const auto id = things.next(tx, user_id);
    if (!id) break;
    erased += run(tx, things.parts, *id, limit - erased);
    if (erased < limit) erased += things.empty(tx, *id);
  }
  return erased;
}

}  // namespace berth::eraser
