#pragma once

#include "controller/db/database.h"

// Stores how far development's clock was moved ahead, so that it stays ahead over a restart, and so
// that all berthd processes on a database have the same time.
namespace berth::clock_advance {

// Adds `by` to the stored advance. Returns the new advance.
Duration store(db::Tx& tx, Duration by);
// Returns the stored advance; 0 in a database whose clock was never moved.
Duration stored(db::Tx& tx);
// Moves the clock ahead until it is `ahead` of the machine's, unless it already is. Thread-safe, as
// long as nothing else moves the clock.
void catch_up(Clock& clock, Duration ahead);

}  // namespace berth::clock_advance
