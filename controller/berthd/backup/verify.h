#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

namespace berth::backup {

enum class Verdict { sound, unsound };

// Writes one line for each thing that was looked at in the SQLite file: that every page is intact,
// foreign keys, the schema, the ledger's invariants from the postings. berthd may be using the
// file. Throws SQLite::Exception where it can't be opened.
Verdict verify_database(const std::filesystem::path& file, std::ostream& out);
// The same for an archive, and whether it is whole and its keys are. Throws what unpack() throws
// where the passphrase is wrong or the archive is damaged.
Verdict verify_archive(const std::filesystem::path& file, const std::string& passphrase,
                       std::ostream& out);

}  // namespace berth::backup
