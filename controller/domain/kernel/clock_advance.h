#pragma once

#include "controller/db/database.h"

// How far development's clock was moved ahead, so that it is there after a restart, too.
namespace berth::clock_advance {

// Adds `by` to what is stored.
void store(db::Tx& tx, Duration by);
// All that was stored; 0 in a database whose clock was never moved.
Duration stored(db::Tx& tx);

}  // namespace berth::clock_advance
