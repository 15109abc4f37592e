#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

// The source that an image is built from, as a tar archive: written by the client, checked and
// written again by berthd before its builder sees it. Only directories, ordinary files and symbolic
// links within the archive are taken; owners, devices, set-user-id bits and everything else of a
// tar aren't. The format itself is libarchive's.
namespace berth::source {

// The archive is damaged, too large, or has something that isn't taken. `what()` is a sentence for
// the person who sent it.
struct BadArchive : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Limits of what comes out of an archive. How large the archive itself is isn't limited here.
inline constexpr std::uint64_t max_unpacked_bytes = 1024ULL * 1024 * 1024;
inline constexpr std::size_t max_entries = 50'000;
inline constexpr std::size_t max_path_bytes = 1024;

struct Entry {
  enum class Type { directory, file, link };
  Type type = Type::file;
  // Relative to the archive's top, with neither "." nor ".." nor a slash at either end.
  std::string path;
  bool is_executable = false;
  std::string target;      // of a link; never leads out of the archive
  std::uint64_t size = 0;  // of a file
  std::time_t modified = 0;
};

// Returns the path without "." and doubled slashes; nothing if it is absolute, empty, too long,
// leaves the archive or contains a NUL.
std::optional<std::string> normalised(std::string_view path);
// Whether a symbolic link at `path`, which is normalised, stays within the archive by its text.
bool stays_inside(std::string_view path, std::string_view target);

// Reads an archive from the beginning: a tar, or one that is compressed by gzip. Not thread-safe.
class Reader {
 public:
  // Throws BadArchive.
  explicit Reader(const std::filesystem::path& file);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Moves to the next entry. Returns nothing at the end. Throws BadArchive.
  std::optional<Entry> next();
  // Reads more of the present entry's contents into `data`; returns 0 at their end. Throws
  // BadArchive, also if all contents together exceed max_unpacked_bytes.
  std::size_t read(char* data, std::size_t size);
  // The rest of the present entry, which must not have more than `most` bytes.
  std::string text(std::size_t most);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

enum class Compression { none, gzip };

// Writes an archive. Not thread-safe.
class Writer {
 public:
  // Throws std::runtime_error, as the others do, if the file can't be written.
  Writer(const std::filesystem::path& file, Compression compression);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Adds an entry. `read` is called for a file's contents as Reader::read() is, until `size` bytes
  // are there; it may be empty for others. A file that ends earlier is an error.
  void add(const Entry& entry, const std::function<std::size_t(char*, std::size_t)>& read = {});
  void add(const Entry& entry, std::string_view contents);
  // Completes the file.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The names under which an image's instructions are looked for, in this order.
inline constexpr std::string_view containerfile_names[] = {"Containerfile", "Dockerfile"};
inline constexpr std::size_t max_containerfile_bytes = 256 * 1024;

struct Contents {
  std::size_t entries = 0;
  std::uint64_t bytes = 0;    // of all files
  std::string containerfile;  // its path
  std::string containerfile_text;
};
// Reads the whole archive, and finds the instructions: those at `containerfile`, or under one of
// the usual names if that is empty. Throws BadArchive, also if there are none.
Contents examine(const std::filesystem::path& file, const std::string& containerfile = {});

}  // namespace berth::source
