#include "cli/source_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "cli/failure.h"
#include "cli/files.h"
#include "cli/ignore_file.h"
#include "controller/base/source_archive.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_named = 5;  // of the largest files

// A file that is removed with this object.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::string name = (fs::temp_directory_path() / "berth-source.XXXXXX").string();
    const int fd = ::mkstemp(name.data());
    if (fd < 0)
      throw Failure(Exit::failed,
                    "no temporary file can be created: " + std::string(std::strerror(errno)));
    ::close(fd);
    path = name;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  fs::path path;
};

IgnoreFile ignore_file_of(const fs::path& folder) {
  for (const char* name : {".containerignore", ".dockerignore"})
    if (const auto text = read_file(folder / name)) return IgnoreFile(*text);
  return IgnoreFile("");
}

// Whether berthd would take the file at this path for the instructions.
bool is_instructions(const std::string& path) {
  return std::ranges::find(source::containerfile_names, path) !=
         std::end(source::containerfile_names);
}

class Packer {
 public:
  Packer(fs::path folder, fs::path containerfile, source::Writer& writer, PackedSource& result)
      : folder_(std::move(folder)),
        containerfile_(std::move(containerfile)),
        ignored_(ignore_file_of(folder_)),
        writer_(writer),
        result_(result) {}

  void pack() {
    add_below(folder_, "");
    if (!has_containerfile_) add_file(containerfile_, std::string(source::containerfile_names[0]));
    std::ranges::sort(result_.largest, std::greater());
    if (result_.largest.size() > most_named) result_.largest.resize(most_named);
  }

 private:
  // In the order of the names, so that the same folder makes the same archive.
  void add_below(const fs::path& directory, const std::string& prefix) {
    std::error_code failed;
    std::vector<fs::path> entries;
    for (fs::directory_iterator each(directory, failed), end; !failed && each != end;
         each.increment(failed))
      entries.push_back(each->path());
    if (failed)
      throw Failure(Exit::failed, directory.string() + " can't be read: " + failed.message());
    std::ranges::sort(entries);
    for (const fs::path& entry : entries) add(entry, prefix + entry.filename().string());
  }

  void add(const fs::path& file, const std::string& path) {
    if (path == ".git") return;
    // If another file has the instructions, those at the top would be taken for them.
    if (is_instructions(path) && file != containerfile_) return;
    const bool left_out = ignored_.leaves_out(path) && file != containerfile_;
    const fs::file_status status = fs::symlink_status(file);
    if (fs::is_directory(status)) {
      if (left_out && !ignored_.has_exceptions()) return;
      if (!left_out)
        write({.type = source::Entry::Type::directory, .path = path, .target = {}}, file);
      add_below(file, path + "/");
    } else if (!left_out) {
      if (fs::is_symlink(status))
        add_link(file, path);
      else if (fs::is_regular_file(status))
        add_file(file, path);
      else
        result_.warnings.push_back(path + " is neither a file nor a directory, and is left out");
    }
  }

  void add_link(const fs::path& file, const std::string& path) {
    const std::string target = fs::read_symlink(file).string();
    if (!source::stays_inside(path, target)) {
      result_.warnings.push_back(path + " leads out of the folder, and is left out");
      return;
    }
    write({.type = source::Entry::Type::link, .path = path, .target = target}, file);
  }

  void add_file(const fs::path& file, const std::string& path) {
    has_containerfile_ = has_containerfile_ || is_instructions(path);
    struct stat about {};
    if (::stat(file.c_str(), &about) != 0)
      throw Failure(Exit::failed, path + " can't be read: " + std::strerror(errno));
    std::ifstream in(file, std::ios::binary);
    if (!in) throw Failure(Exit::failed, path + " can't be read: " + std::strerror(errno));
    const source::Entry entry = {.type = source::Entry::Type::file,
                                 .path = path,
                                 .is_executable = (about.st_mode & S_IXUSR) != 0,
                                 .target = {},
                                 .size = std::uint64_t(about.st_size),
                                 .modified = about.st_mtime};
    check_number();
    writer_.add(entry, [&](char* data, size_t size) {
      in.read(data, std::streamsize(size));
      return size_t(in.gcount());
    });
    ++result_.files;
    result_.largest.emplace_back(entry.size, path);
  }

  void write(source::Entry entry, const fs::path& file) {
    struct stat about {};
    if (::lstat(file.c_str(), &about) == 0) entry.modified = about.st_mtime;
    check_number();
    writer_.add(entry);
  }

  void check_number() {
    if (++entries_ > source::max_entries)
      throw Failure(Exit::usage,
                    "the folder has more than " + std::to_string(source::max_entries) + " files",
                    "Name what isn't needed in a .containerignore.");
  }

  const fs::path folder_;
  const fs::path containerfile_;
  const IgnoreFile ignored_;
  source::Writer& writer_;
  PackedSource& result_;
  size_t entries_ = 0;
  bool has_containerfile_ = false;
};

}  // namespace

std::optional<fs::path> containerfile_of(const fs::path& folder, const std::string& named) {
  if (!fs::is_directory(folder))
    throw Failure(Exit::usage, "there is no folder " + folder.string());
  const fs::path whole = fs::canonical(folder);
  if (!named.empty()) {
    const fs::path file = fs::exists(named) ? fs::path(named) : whole / named;
    if (!fs::is_regular_file(file)) throw Failure(Exit::usage, "there is no file " + named);
    return fs::canonical(file);
  }
  for (const std::string_view name : source::containerfile_names)
    if (fs::is_regular_file(whole / name)) return whole / name;
  return std::nullopt;
}

PackedSource pack(const fs::path& folder, const fs::path& containerfile) try {
  PackedSource result;
  const TemporaryFile file;
  source::Writer writer(file.path, source::Compression::gzip);
  Packer(fs::canonical(folder), containerfile, writer, result).pack();
  writer.close();
  result.archive = read_file(file.path).value();
  return result;
} catch (const Failure&) {
  throw;
} catch (const std::runtime_error& error) {
  throw Failure(Exit::failed, error.what());
}

}  // namespace berth::cli
