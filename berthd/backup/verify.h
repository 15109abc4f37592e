#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

#include "berthd/backup/restore.h"
#include "controller/db/postgres/connection.h"
#include "controller/db/postgres/server.h"

namespace berth::backup {

enum class Verdict { sound, unsound };

// Checks the SQLite file and writes one line for each check: that every page is intact, foreign
// keys, the schema, the ledger's invariants, computed from the postings, and the chain of the audit
// log. berthd may be using the file; if nobody does, several threads read it. `progress` is called
// by one thread at a time. Throws SQLite::Exception if the file can't be opened.
Verdict verify_database(const std::filesystem::path& file, std::ostream& out,
                        const Progress& progress);
// Checks the database of an archive in the same way, and whether the archive and its keys are
// complete. Throws what unpack() throws if the passphrase is wrong or the archive is damaged.
Verdict verify_archive(const std::filesystem::path& file, const std::string& passphrase,
                       std::ostream& out, const Progress& progress);
// Checks the database on a PostgreSQL server in one snapshot: the schema, the ledger's invariants
// and the chain of the audit log. Pages, indexes and foreign keys are the server's own to check
// (data checksums, pg_amcheck). Throws std::runtime_error if the server can't be reached.
Verdict verify_server(const db::postgres::Server& server, std::ostream& out,
                      const Progress& progress);
// The same in the connection's open transaction.
Verdict verify_open(db::postgres::Connection& connection, std::ostream& out,
                    const Progress& progress);

}  // namespace berth::backup
