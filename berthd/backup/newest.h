#pragma once

#include <optional>

#include "controller/db/database.h"

// When the newest archive was made, so that somebody can be told that it is too old.
namespace berth::backup {

// Records that berthd has sent a complete archive.
void note_made(db::Tx& tx);
// Returns the time since the last note_made(); nothing if there was none.
std::optional<Duration> since_newest(db::Tx& tx);
// Returns the time since the last note_made(), or since the database was created if there was none.
Duration age_of_newest(db::Tx& tx);

}  // namespace berth::backup
