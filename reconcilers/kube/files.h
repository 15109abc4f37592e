#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace berth::kube {

// A kubeconfig, a token or a certificate bundle is some kilobytes; more is the wrong file.
inline constexpr size_t max_credential_file_bytes = 4 << 20;

// The whole file. Throws std::runtime_error that names it where it can't be read, is no regular
// file or is larger than max_credential_file_bytes.
std::string read_credential_file(const std::filesystem::path& file);

// A small file that somebody else replaces now and then: a token, a certificate. It is read again
// where its size, inode or time of change differ, and at least each minute: the kubelet's
// projected volumes swap a symlink, other writers keep all three. Not thread-safe.
class RotatingFile {
 public:
  explicit RotatingFile(std::filesystem::path file) : file_(std::move(file)) {}

  // What it holds. Where it is gone or empty for a moment, what it held before. Throws
  // std::runtime_error where it never held anything.
  const std::string& text();
  // The next text() reads it, whatever it looks like.
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
