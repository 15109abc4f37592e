#pragma once

#include "controller/db/database.h"

// Stores how far development's clock was moved ahead, so that it stays ahead over a restart, and so
// that all berthd on a database have the same time.
namespace berth::clock_advance {

// Adds `by` to what is stored. Returns all that is stored then.
Duration store(db::Tx& tx, Duration by);
// All that was stored; 0 in a database whose clock was never moved.
Duration stored(db::Tx& tx);
// Moves the clock to where it is this far ahead, if it isn't yet. Thread-safe, as long as nothing
// else moves the clock.
void catch_up(Clock& clock, Duration ahead);

}  // namespace berth::clock_advance
