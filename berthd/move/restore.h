#pragma once

#include "berthd/backup/commands.h"

namespace berth::move {

// `berthd restore`: makes a data directory from an archive, as backup::run_restore() does. If the
// key `database` names a PostgreSQL database, the archive's rows are moved there, as `berthd
// migrate` does, and the data directory only gets the keys. That database must be empty; the data
// directory must have no SQLite database, and no other keys than those of the archive. The archive
// may have been made on either engine. If anything fails, both are as they were, and the same
// command can be run again. Returns 0. Throws what backup::run_restore() and to_postgres() throw.
int run_restore(const backup::Arguments& arguments, const Config& config);

}  // namespace berth::move
