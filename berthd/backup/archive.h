#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"

// The contents of a backup, inside its encryption (base/sealed_file.h): the length of a manifest in
// 4 bytes (big-endian), the manifest in JSON, then the bytes of its files, one after another.
namespace berth::backup {

struct File {
  std::string name;  // keys.json or berth.db, in this order
  std::uint64_t size = 0;
};

struct Manifest {
  std::string version;  // version of the berthd that made it
  Instant made_at;
  std::vector<File> files;
};

std::string encode(const Manifest& manifest);  // returns the length and the manifest
std::uint64_t total_size(const Manifest& manifest);

// Writes the files of an archive into a directory, each with mode 0600. Not thread-safe.
class Unpacker {
 public:
  // Needs a directory that doesn't contain these files.
  explicit Unpacker(std::filesystem::path directory) : directory_(std::move(directory)) {}
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // Takes the next bytes of the archive. Throws sealed_file::Damaged if they don't have the format,
  // and std::system_error if they can't be written to the disk.
  void write(std::string_view bytes);
  // Checks that every file is complete, and makes it durable. Throws sealed_file::Damaged.
  Manifest finish();

 private:
  void read_manifest();
  void open_next();
  void close_file();

  const std::filesystem::path directory_;
  std::string waiting_;  // input, until the manifest is complete
  bool has_manifest_ = false;
  Manifest manifest_;
  size_t next_file_ = 0;
  std::uint64_t left_of_file_ = 0;
  int file_ = -1;
};

}  // namespace berth::backup
