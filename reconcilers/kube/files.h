#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace berth::kube {

// A kubeconfig, a token or a certificate bundle has some kilobytes; a larger file is the wrong
// file.
inline constexpr size_t max_credential_file_bytes = 4 << 20;

// Returns the whole file. Throws std::runtime_error that names the file if it can't be read, isn't
// a regular file or is larger than max_credential_file_bytes.
std::string read_credential_file(const std::filesystem::path& file);

// A small file that another program replaces from time to time: a token or a certificate. It is
// read again if its size, inode or change time differs, and at least once a minute: the kubelet
// replaces a symlink in its projected volumes, and other writers may leave all three unchanged. Not
// thread-safe.
class RotatingFile {
 public:
  explicit RotatingFile(std::filesystem::path file) : file_(std::move(file)) {}

  // The file's contents. If the file is missing or empty for a moment, its previous contents are
  // returned. Throws std::runtime_error if it never had any.
  const std::string& text();
  // Makes the next text() read the file in any case.
  void forget() { read_at_.reset(); }

 private:
  struct Stamp {
    std::int64_t changed_seconds = 0, changed_nanoseconds = 0, size = -1;
    std::uint64_t inode = 0;
    bool operator==(const Stamp&) const = default;
  };
  Stamp stamp() const;
  void read(const Stamp& now);

  std::filesystem::path file_;
  std::string text_;
  Stamp stamp_;
  std::optional<std::chrono::steady_clock::time_point> read_at_;
};

}  // namespace berth::kube
