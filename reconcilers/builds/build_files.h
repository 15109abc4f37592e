#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace berth::reconcilers {

// The sources and logs of builds, below a directory that only berthd reads: a folder for each
// build, with its source until it is over, and its log while the build's row is kept. Thread-safe,
// but for the log of one build, which has one writer.
class BuildFiles {
 public:
  // What a log may have at most; what follows is left out, and the log says so.
  static constexpr std::uint64_t max_log_bytes = 1024 * 1024;

  // Creates the directory, and removes uploads that an earlier process has left. Throws
  // std::filesystem::filesystem_error.
  explicit BuildFiles(std::filesystem::path directory);

  // The directory in which sources are received.
  std::filesystem::path uploads() const { return directory_ / "uploads"; }
  // Moves a source that was received to its place; it is on the disk afterwards. Throws
  // std::runtime_error.
  void keep(const std::string& id, const std::filesystem::path& source) const;
  std::filesystem::path source(const std::string& id) const { return of(id) / "source"; }
  // Removes the source, or everything of the build. They never throw.
  void forget_source(const std::string& id) const;
  void forget(const std::string& id) const;
  // The builds that have a folder.
  std::vector<std::string> ids() const;

  // Returns what the log has from this byte on, `most` bytes at most; nothing if there is no log.
  std::string log(const std::string& id, std::uint64_t from, std::size_t most) const;

  class Log {
   public:
    explicit Log(const std::filesystem::path& file);
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;
    // Appends a piece. A disk that is full costs the log, and not the build.
    void write(std::string_view piece);
    std::uint64_t bytes() const { return bytes_; }

   private:
    void append(std::string_view piece);
    int fd_ = -1;
    std::uint64_t bytes_ = 0;
    bool is_full_ = false;
    bool ends_line_ = true;
  };
  std::unique_ptr<Log> open_log(const std::string& id) const;

 private:
  std::filesystem::path of(const std::string& id) const { return directory_ / id; }

  const std::filesystem::path directory_;
};

}  // namespace berth::reconcilers
