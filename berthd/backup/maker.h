#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "berthd/backup/archive.h"
#include "berthd/backup/files.h"
#include "berthd/data_dir.h"
#include "controller/base/clock.h"
#include "controller/base/sealed_file.h"
#include "controller/db/sqlite/copy.h"

// The part of `berthd backup` that the running berthd does.
namespace berth::backup {

// An archive that is being sent: the chunks of a sealed file (base/sealed_file.h), without its
// header. The name of its database copy has been removed, so that the copy disappears whatever
// happens. Not thread-safe.
class Outgoing {
 public:
  struct Parts {
    std::string keys_text;
    std::filesystem::path database;  // a file of its own, whose name the constructor removes
    std::string version;
    Instant now;
  };
  // Keeps `turn` until the archive is sent, so that another backup can't begin meanwhile.
  Outgoing(const std::string& key, const Parts& parts, std::shared_ptr<void> turn);
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  std::uint64_t size() const { return size_; }  // sum of all chunks
  // Hands a part of the archive to `sink`. Returns false if everything was handed over.
  bool step(const std::function<void(std::string_view)>& sink);
  // Whether everything was handed over.
  bool is_complete() const { return complete_; }

 private:
  std::shared_ptr<void> turn_;
  OpenFile file_;
  std::uint64_t size_ = 0;
  bool complete_ = false;
  std::string sealed_;
  sealed_file::Sealer sealer_;
};

// Where the rows of an archive come from.
struct Source {
  // Copies the database, as it is in one snapshot, into a new SQLite file. Throws
  // db::sqlite::Stopped if `go_on` says so, and leaves the file to the caller if it fails.
  std::function<void(const std::filesystem::path& to, const db::sqlite::GoOn& go_on)> copy;
  // How many bytes of disk the copy needs at most.
  std::function<std::uintmax_t()> bytes;
};
// The data directory's SQLite file.
Source file_of(const DataDir& data);

// Makes archives of a data directory that is in use. Thread-safe.
class Maker {
 public:
  // `version` is berthd's, for the manifest.
  Maker(const DataDir& data, const Clock& clock, std::string_view version, Source source)
      : data_(data), clock_(clock), version_(version), source_(std::move(source)) {}

  // Copies the database as it is now and checks the copy; the archive also contains the keys. `key`
  // is the key of a sealed file and must not be used for anything else. The call takes as long as
  // reading the database twice. Throws Error: unavailable if another backup is running, the disk is
  // full or stop() was called; internal_error if the database is damaged.
  std::unique_ptr<Outgoing> begin(const std::string& key);
  // Makes begin() throw from now on, also in calls that are running.
  void stop() { stopped_ = true; }

 private:
  const DataDir& data_;
  const Clock& clock_;
  const std::string version_;
  const Source source_;
  std::atomic<bool> busy_ = false;
  std::atomic<bool> stopped_ = false;
};

}  // namespace berth::backup
