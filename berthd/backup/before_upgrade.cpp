#include "berthd/backup/before_upgrade.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "berthd/backup/files.h"
#include "berthd/backup/room.h"
#include "berthd/exit_codes.h"
#include "controller/base/log.h"
#include "controller/db/sqlite/copy.h"

namespace berth::backup {
namespace {

namespace fs = std::filesystem;

std::string copy_name(std::string_view migration) {
  return "before-" + std::string(migration.substr(0, migration.rfind('.'))) + ".db";
}

// The directory of the copies, which nobody else can read.
fs::path make_directory(const DataDir& data) {
  const fs::path directory = data.path() / upgrades_name;
  fs::create_directory(directory);
  fs::permissions(directory, fs::perms::owner_all);
  sync_directory(data.path());
  return directory;
}

// Gives the copy its name only once it is complete and on disk.
void copy_database(const DataDir& data, const fs::path& target) {
  const fs::path partial = target.string() + ".partial";
  db::sqlite::copy(data.database_file(), partial, [] { return true; });
  sync(OpenFile(partial, O_RDONLY).get());
  rename_lasting(partial, target);
}

// Their names begin with the numbers of the migrations, so that they sort by age.
void remove_older(const fs::path& directory, const std::vector<EmbeddedFile>& files) {
  std::set<std::string> names;
  for (const EmbeddedFile& migration : files) names.insert(copy_name(migration.name));
  std::vector<fs::path> copies;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.is_regular_file() && names.contains(entry.path().filename()))
      copies.push_back(entry.path());
  std::ranges::sort(copies, std::greater<>());
  for (size_t i = copies_kept; i < copies.size(); ++i) {
    fs::remove(copies[i]);
    log::info("an old copy of the database was removed", {{"file", copies[i].string()}});
  }
}

void copy_before(const DataDir& data, const std::string& first_migration,
                 const std::vector<EmbeddedFile>& files) {
  if (!has_room(data.path(), bytes_of(data.database_file())))
    throw StartError(exit_disk_full,
                     "this version upgrades the database, and the disk of " + data.path().string() +
                         " is full: there is no room for the copy that is made first. Make room "
                         "and start again, or set backup-before-upgrade to off");
  const fs::path target = make_directory(data) / copy_name(first_migration);
  const auto began = std::chrono::steady_clock::now();
  copy_database(data, target);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  log::info(
      "the database was copied before its upgrade",
      {{"file", target.string()}, {"bytes", fs::file_size(target)}, {"seconds", took.count()}});
  remove_older(target.parent_path(), files);
}

db::sqlite::Pending pending_in(const fs::path& file, const std::vector<EmbeddedFile>& files) {
  SQLite::Database database(file.string(), SQLite::OPEN_READONLY);
  database.exec("PRAGMA wal_autocheckpoint = 0");
  return db::sqlite::pending_migrations(database, files);
}

}  // namespace

void prepare_upgrade(const DataDir& data, CopyFirst copy_first,
                     const std::vector<EmbeddedFile>& files) {
  if (!fs::exists(data.database_file()) || fs::file_size(data.database_file()) == 0) return;
  const db::sqlite::Pending pending = pending_in(data.database_file(), files);
  if (pending.newest.empty() || pending.names.empty()) return;
  log::info("the database's schema is upgraded; an older berthd can't use it afterwards",
            {{"from", pending.newest},
             {"to", pending.names.back()},
             {"migrations", pending.names.size()},
             {"copied_first", copy_first == CopyFirst::yes}});
  if (copy_first == CopyFirst::yes) copy_before(data, pending.names.front(), files);
}

}  // namespace berth::backup
