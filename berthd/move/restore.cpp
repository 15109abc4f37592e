#include "berthd/move/restore.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "berthd/backup/files.h"
#include "berthd/backup/progress_bar.h"
#include "berthd/data_dir.h"
#include "berthd/dir_lock.h"
#include "berthd/move/move.h"
#include "controller/base/crypto.h"
#include "controller/db/sqlite/connection.h"
#include "controller/db/sqlite/migrate.h"

namespace berth::move {
namespace {

namespace fs = std::filesystem;

// The directory in the data directory in which the archive is unpacked.
constexpr const char* unpacked_name = "restore.unpacked";

std::string text_of_keys(const fs::path& directory) {
  constexpr size_t most = 1 << 20;
  const backup::OpenFile file(directory / keys_name, O_RDONLY);
  return backup::read_some(file.get(), most);
}

// An archive that is unpacked as a data directory of its own, until this object is gone.
class Unpacked {
 public:
  Unpacked(const backup::Arguments& arguments, const fs::path& data_dir)
      : directory_(data_dir / unpacked_name) {
    fs::remove_all(directory_);  // a restore that was killed may have left it
    manifest_ = backup::restore(arguments.file, backup::passphrase_of(arguments), directory_,
                                backup::progress_line("restore"));
  }
  ~Unpacked() {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  const fs::path& directory() const { return directory_; }
  const backup::Manifest& manifest() const { return manifest_; }

  // The archive may be of an older version.
  void upgrade() const {
    db::sqlite::Connection connection(directory_ / database_name, SQLite::OPEN_READWRITE, "");
    db::sqlite::migrate(connection.raw(), Clock().now());
  }

 private:
  const fs::path directory_;
  backup::Manifest manifest_;
};

// Puts the archive's keys into the data directory, and removes them again unless the move succeeds.
class InstalledKeys {
 public:
  InstalledKeys(const fs::path& from, const fs::path& data_dir) : file_(data_dir / keys_name) {
    if (fs::exists(file_)) {
      if (parse_keys(text_of_keys(data_dir)).data != parse_keys(text_of_keys(from)).data)
        throw DataDirError(file_.string() +
                           ": has other keys than the archive, and the rows can't be read with "
                           "them; move the file away first");
      is_kept_ = true;
      return;
    }
    fs::copy_file(from / keys_name, data_dir / copied_name);
    backup::rename_lasting(data_dir / copied_name, file_);
  }
  ~InstalledKeys() {
    std::error_code ignored;
    if (!is_kept_) fs::remove(file_, ignored);
  }
  InstalledKeys(const InstalledKeys&) = delete;
  InstalledKeys& operator=(const InstalledKeys&) = delete;
  void keep() { is_kept_ = true; }

 private:
  static constexpr const char* copied_name = "keys.json.restored";
  const fs::path file_;
  bool is_kept_ = false;
};

}  // namespace

int run_restore(const backup::Arguments& arguments, const Config& config) {
  if (!config.database || arguments.file.empty()) return backup::run_restore(arguments, config);
  const DirLock lock(config.data_dir);
  if (fs::exists(config.data_dir / database_name))
    throw DataDirError(config.data_dir.string() + ": has a " + database_name +
                       ", and the key database names a PostgreSQL; name another data directory");
  const Unpacked unpacked(arguments, config.data_dir);
  unpacked.upgrade();
  InstalledKeys keys(unpacked.directory(), config.data_dir);
  Config of_archive = config;
  of_archive.data_dir = unpacked.directory();
  {
    backup::ProgressBar bar("berthd restore", std::cerr, ::isatty(STDERR_FILENO) == 1);
    to_postgres(of_archive, std::cout,
                [&](std::uint64_t done, std::uint64_t of) { bar.show(done, of); });
  }
  keys.keep();
  std::cerr << "berthd restore: the database was restored to its state of "
            << to_iso8601(unpacked.manifest().made_at) << "\n";
  return 0;
}

}  // namespace berth::move
