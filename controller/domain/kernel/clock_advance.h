#pragma once

#include "controller/db/database.h"

// Stores how far development's clock was moved ahead, so that it stays ahead over a restart.
namespace berth::clock_advance {

// Adds `by` to what is stored.
void store(db::Tx& tx, Duration by);
// All that was stored; 0 in a database whose clock was never moved.
Duration stored(db::Tx& tx);

}  // namespace berth::clock_advance
