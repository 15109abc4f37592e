#include "berthd/backup/restore.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>

#include <fstream>
#include <set>
#include <sstream>

#include "berthd/backup/files.h"
#include "berthd/data_dir.h"
#include "controller/base/sealed_file.h"
#include "controller/db/sqlite/copy.h"
#include "controller/db/sqlite/migrate.h"

namespace berth::backup {
namespace {

namespace fs = std::filesystem;

constexpr size_t read_bytes = 256 * 1024;

std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  if (fs::exists(directory))
    for (const auto& entry : fs::directory_iterator(directory))
      names.insert(entry.path().filename());
  return names;
}

void check_empty(const fs::path& directory) {
  std::set<std::string> names = names_in(directory);
  if (names.erase(partial_restore_name) > 0 && !names.contains(database_name))
    names.erase(keys_name);
  names.erase("lock");
  names.erase("lost+found");
  if (!names.empty())
    throw DataDirError(directory.string() + ": contains files (" + *names.begin() +
                       "); restore into an empty or missing directory");
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void check_whole(const fs::path& directory) {
  try {
    parse_keys(text_of(directory / keys_name));
  } catch (const std::exception& failure) {
    throw std::runtime_error(std::string("the keys in the archive are damaged: ") + failure.what());
  }
  const db::sqlite::Soundness found =
      db::sqlite::examine(directory / database_name, [] { return true; });
  if (!found.integrity.empty())
    throw std::runtime_error("the database in the archive is damaged: " + found.integrity.front());
  if (!found.foreign_keys.empty())
    throw std::runtime_error("the database in the archive isn't sound: " +
                             found.foreign_keys.front());
  SQLite::Database database((directory / database_name).string(), SQLite::OPEN_READONLY);
  db::sqlite::check_migrations(database);
}

// Restores the directory to its earlier state if the restore fails.
class Attempt {
 public:
  explicit Attempt(const fs::path& directory)
      : directory_(directory), existed_(fs::exists(directory)) {}
  ~Attempt() {
    if (done_) return;
    std::error_code ignored;
    if (began_) {
      fs::remove_all(partial(), ignored);
      if (!fs::exists(directory_ / database_name, ignored))
        fs::remove(directory_ / keys_name, ignored);
    }
    if (!existed_) {
      fs::remove(directory_ / "lock", ignored);
      fs::remove(directory_, ignored);
    }
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  fs::path partial() const { return directory_ / partial_restore_name; }
  void begin() {
    began_ = true;
    fs::remove_all(partial());
    fs::create_directory(partial());
    fs::permissions(partial(), fs::perms::owner_all);
    // A file that an earlier restore has moved here belongs to another archive.
    fs::remove(directory_ / keys_name);
    sync_directory(directory_);
  }
  void finish() {
    rename_lasting(partial() / keys_name, directory_ / keys_name);
    rename_lasting(partial() / database_name, directory_ / database_name);
    done_ = true;
    fs::remove_all(partial());
  }

 private:
  const fs::path directory_;
  const bool existed_;
  bool began_ = false;
  bool done_ = false;
};

}  // namespace

Manifest unpack(const fs::path& file, std::string_view passphrase, const fs::path& directory,
                const Progress& progress) {
  const OpenFile archive(file, O_RDONLY);
  const std::uint64_t size = fs::file_size(file);
  const std::string header = read_some(archive.get(), sealed_file::header_bytes);
  Unpacker unpacker(directory);
  sealed_file::Opener opener(sealed_file::key_of(passphrase, header),
                             [&](std::string_view bytes) { unpacker.write(bytes); });
  std::uint64_t done = header.size();
  for (;;) {
    const std::string bytes = read_some(archive.get(), read_bytes);
    if (bytes.empty()) break;
    opener.write(bytes);
    done += bytes.size();
    progress(done, size);
  }
  opener.finish();
  return unpacker.finish();
}

Manifest restore(const fs::path& file, std::string_view passphrase, const fs::path& directory,
                 const Progress& progress) {
  check_empty(directory);
  Attempt attempt(directory);
  const DirLock lock(directory);
  check_empty(directory);
  attempt.begin();
  const Manifest manifest = unpack(file, passphrase, attempt.partial(), progress);
  check_whole(attempt.partial());
  attempt.finish();
  return manifest;
}

}  // namespace berth::backup
