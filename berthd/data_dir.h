#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "berthd/dir_lock.h"
#include "controller/domain/kernel/keys.h"

namespace berth {

// The names of the files in a data directory.
inline constexpr const char* database_name = "berth.db";
inline constexpr const char* database_copy_name = "berth.db.copy";  // exists while a backup is made
// What deployments used over time. It isn't part of backups.
inline constexpr const char* usage_history_name = "usage-history.db";
inline constexpr const char* keys_name = "keys.json";
inline constexpr const char* secret_name = "internal-secret";
inline constexpr const char* address_name = "berthd.addr";
// The directory in which a restore collects the files before it moves them to their places. If it
// exists and there is no database, the data directory is incomplete.
inline constexpr const char* partial_restore_name = "restore.partial";

// Parses the text of keys.json. Throws std::exception if it isn't complete.
Keys parse_keys(const std::string& text);
// The text of keys.json with these keys.
std::string text_of(const Keys& keys);

// The directory in which berthd keeps everything: the database, the keys, and the address that it
// listens on. A lock (flock) keeps a second berthd out as long as this object lives. The directory
// has mode 0700, files with secrets have mode 0600.
class DataDir {
 public:
  // Creates the directory if it doesn't exist, and removes what a backup that was killed has left
  // in it. Throws DataDirError, also if a restore into it wasn't completed.
  explicit DataDir(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path database_file() const { return path_ / database_name; }
  // Returns the keys. At the very first start they are created, or copied from the file `first` if
  // that isn't empty. Throws DataDirError if they can't be read, or are missing although there is a
  // database that needs them.
  Keys keys(const std::filesystem::path& first = {}) const;
  // Puts a new session key in front, on disk and in `keys`, and returns its id. Existing sessions
  // keep working: old keys are kept as long as a session signed with one can live. Thread-safe.
  // Throws DataDirError, in which case nothing has changed.
  std::string rotate_session_key(Keys& keys, Instant now, Duration session_lifetime) const;
  // Returns the secret for x-internal-secret, which is created once. For development.
  std::string internal_secret() const;
  // Replaces a small file atomically: other processes read either the old or the new text.
  void write(const std::string& name, const std::string& text) const;

 private:
  static std::optional<std::string> read(const std::filesystem::path& file);
  std::filesystem::path path_;
  DirLock lock_;
};

}  // namespace berth
