#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/base/sealed_file.h"
#include "controller/berthd/backup/archive.h"
#include "controller/berthd/backup/files.h"
#include "controller/berthd/data_dir.h"

// The running berthd's side of `berthd backup`.
namespace berth::backup {

// An archive on its way out: the chunks of a sealed file (base/sealed_file.h), without its header.
// Its copy of the database has no name any more, so that nothing is left whatever happens. For one
// thread.
class Outgoing {
 public:
  struct Parts {
    std::string keys_text;
    std::filesystem::path database;  // a file of its own; its name is removed
    std::string version;
    Instant now;
  };
  // `turn` is given back at the end.
  Outgoing(const std::string& key, const Parts& parts, std::shared_ptr<void> turn);
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  std::uint64_t size() const { return size_; }  // of all chunks
  // Hands some of it to `sink`; false once everything is handed over, or where the sink says false.
  bool step(const std::function<bool(std::string_view)>& sink);

 private:
  std::shared_ptr<void> turn_;
  OpenFile file_;
  std::uint64_t size_ = 0;
  std::string sealed_;
  sealed_file::Sealer sealer_;
};

// Makes archives of a data directory while it is in use. Thread-safe.
class Maker {
 public:
  // `version` is berthd's, for the manifest.
  Maker(const DataDir& data, const Clock& clock, std::string_view version)
      : data_(data), clock_(clock), version_(version) {}

  // Copies the database as it is now and checks the copy; the keys come with it. `key` is that of a
  // sealed file and used for nothing else. Takes as long as reading the database twice. Throws
  // Error: unavailable where another backup is under way, the disk has no room or stop() was
  // called; internal_error where the database is damaged.
  std::unique_ptr<Outgoing> begin(const std::string& key);
  // begin() throws from now on, also where it runs.
  void stop() { stopped_ = true; }

 private:
  const DataDir& data_;
  const Clock& clock_;
  const std::string version_;
  std::atomic<bool> busy_ = false;
  std::atomic<bool> stopped_ = false;
};

}  // namespace berth::backup
