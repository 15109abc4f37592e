#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "controller/berthd/dir_lock.h"
#include "controller/domain/kernel/keys.h"

namespace berth {

// Names in a data directory.
inline constexpr const char* database_name = "berth.db";
inline constexpr const char* database_copy_name = "berth.db.copy";  // while a backup is made
inline constexpr const char* keys_name = "keys.json";
inline constexpr const char* secret_name = "internal-secret";
inline constexpr const char* address_name = "berthd.addr";
// Where a restore puts together what it then moves to its place. As long as it is there without the
// database beside it, the data directory is no whole one.
inline constexpr const char* partial_restore_name = "restore.partial";

// The keys in the text of keys.json. Throws std::exception where they aren't whole.
Keys parse_keys(const std::string& text);

// Where berthd keeps everything: the database, the keys, the address that it listens on. Locked
// against a second berthd (flock) for as long as this object lives. The directory has mode 0700,
// files with secrets 0600.
class DataDir {
 public:
  // Makes the directory where it is missing. Throws DataDirError.
  explicit DataDir(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path database_file() const { return path_ / database_name; }
  // The keys, made at the very first start. Throws DataDirError where they are unreadable, or gone
  // while there is a database that needs them.
  Keys keys() const;
  // Puts a new session key in front, on disk and in `keys`, and returns its id. Sessions go on: the
  // old keys verify for as long as one of theirs can live. Thread-safe. Throws DataDirError, and
  // then nothing has changed.
  std::string rotate_session_key(Keys& keys, Instant now, Duration session_lifetime) const;
  // The secret for x-internal-secret, made once: for development.
  std::string internal_secret() const;
  // Replaces a small file whole: another process reads the old or the new text.
  void write(const std::string& name, const std::string& text) const;

 private:
  std::optional<std::string> read(const std::string& name) const;
  std::filesystem::path path_;
  DirLock lock_;
};

}  // namespace berth
