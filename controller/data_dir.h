#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "controller/domain/keys.h"

namespace berth {

// The data directory is in use or damaged: berthd ends with exit code 3.
struct DataDirError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where berthd keeps everything: the database, the keys, the address that it listens on. Locked
// against a second berthd (flock) for as long as this object lives. The directory has mode 0700,
// files with secrets 0600.
class DataDir {
 public:
  // Makes the directory where it is missing. Throws DataDirError.
  explicit DataDir(const std::filesystem::path& path);
  ~DataDir();
  DataDir(const DataDir&) = delete;
  DataDir& operator=(const DataDir&) = delete;

  std::filesystem::path database_file() const { return path_ / "berth.db"; }
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
  int lock_ = -1;
};

}  // namespace berth
