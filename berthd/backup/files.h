#pragma once

#include <filesystem>
#include <string>
#include <string_view>

// Writing files so that they are either complete or absent. All functions throw std::system_error;
// it names the path, except where a function takes a descriptor.
namespace berth::backup {

// Opens a file, with O_CLOEXEC added to the flags. A new file gets mode 0600.
int open_private(const std::filesystem::path& path, int flags);
void write_all(int file, std::string_view bytes);
// Reads at most `most` bytes; returns an empty text at the end.
std::string read_some(int file, size_t most);
void sync(int file);
// Makes the directory's entries durable, too.
void sync_directory(const std::filesystem::path& directory);
// Renames a file, replacing `to`, and makes that durable.
void rename_lasting(const std::filesystem::path& from, const std::filesystem::path& to);

// Owns a file's descriptor and closes it.
class OpenFile {
 public:
  OpenFile(const std::filesystem::path& path, int flags) : file_(open_private(path, flags)) {}
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

// Returns the passphrase or other secret in a file, without a line end. Throws std::system_error.
std::string read_secret(const std::filesystem::path& path);

}  // namespace berth::backup
