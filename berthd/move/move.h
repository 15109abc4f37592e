#pragma once

#include <filesystem>
#include <iosfwd>

#include "berthd/backup/restore.h"
#include "berthd/config.h"
#include "controller/db/postgres/server.h"
#include "controller/db/sqlite/copy.h"

// `berthd migrate`: moves the database between the SQLite file of the data directory and the
// PostgreSQL server of the key `database`. Meanwhile locks keep every berthd from serving either.
// The rows are streamed and compared on both sides by number and hash, and the result is verified
// as `berthd verify` does. A move is whole or not there, whenever it is killed: run it again.
// Afterwards the old database has a mark, with which berthd doesn't start on it; nothing else of it
// changes.
namespace berth::move {

// The directory in the data directory in which to_sqlite() collects the database. If it exists and
// there is no database beside it, a move wasn't completed.
inline constexpr const char* partial_name = "migrate.partial";

// Moves to an empty PostgreSQL database, in one transaction. Prints what was checked. `progress` is
// called with numbers of rows. Throws DataDirError if there is no SQLite database or it is in use,
// StartError if one of the databases can't be used, and std::runtime_error if a row can't be moved
// or the result isn't sound.
void to_postgres(const Config& config, std::ostream& out, const backup::Progress& progress);

// Moves to a data directory that has the keys of the database, and no SQLite database. Throws as
// to_postgres() does, also if a berthd is connected to the PostgreSQL database.
void to_sqlite(const Config& config, std::ostream& out, const backup::Progress& progress);

// For backups: copies the PostgreSQL database, as it is in one snapshot, into a new SQLite file,
// and compares the rows. Everybody may go on to read and write meanwhile; what they delete or
// change takes room on the server until the copy is done. Throws db::sqlite::Stopped if `go_on`
// says so, StartError if the database was moved elsewhere, and std::runtime_error if the server
// can't be reached or a row can't be copied. The file is left to the caller then.
void copy_to_file(const db::postgres::Server& server, const std::filesystem::path& file,
                  const db::sqlite::GoOn& go_on);

}  // namespace berth::move
