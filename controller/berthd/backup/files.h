#pragma once

#include <filesystem>
#include <string>
#include <string_view>

// Files that are whole or not there. Everything throws std::system_error that names the path.
namespace berth::backup {

// Opens with mode 0600 where it is made; O_CLOEXEC is added.
int open_private(const std::filesystem::path& path, int flags);
void write_all(int file, std::string_view bytes);
// The next bytes, at most `most`; empty at the end.
std::string read_some(int file, size_t most);
void sync(int file);
// Makes the names in it last, too.
void sync_directory(const std::filesystem::path& directory);
void rename_lasting(const std::filesystem::path& from, const std::filesystem::path& to);

// A descriptor that is closed with its object.
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

// A passphrase, or another secret, in a file: without the line's end. Throws std::system_error.
std::string read_secret(const std::filesystem::path& path);

}  // namespace berth::backup
