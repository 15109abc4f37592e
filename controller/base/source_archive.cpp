#include "controller/base/source_archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <vector>

namespace berth::source {
namespace {

constexpr std::size_t block_bytes = 64 * 1024;
constexpr mode_t mode_of_directory = 0755;
constexpr mode_t mode_of_file = 0644;
constexpr mode_t mode_of_program = 0755;
constexpr mode_t mode_of_link = 0777;
constexpr mode_t any_execution = 0111;

std::string words_of(archive* handle) {
  const char* text = archive_error_string(handle);
  return text == nullptr ? "unknown error" : text;
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

}  // namespace

std::optional<std::string> normalised(std::string_view path) {
  if (path.size() > max_path_bytes || path.starts_with('/') ||
      path.find('\0') != std::string_view::npos)
    return std::nullopt;
  std::string result;
  for (const std::string_view part : parts_of(path)) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return std::nullopt;
    if (!result.empty()) result += '/';
    result += part;
  }
  return result.empty() ? std::nullopt : std::optional(result);
}

bool stays_inside(std::string_view path, std::string_view target) {
  if (target.empty() || target.size() > max_path_bytes || target.starts_with('/') ||
      target.find('\0') != std::string_view::npos)
    return false;
  std::ptrdiff_t depth = std::ranges::count(path, '/');
  for (const std::string_view part : parts_of(target)) {
    if (part.empty() || part == ".") continue;
    depth += part == ".." ? -1 : 1;
    if (depth < 0) return false;
  }
  return true;
}

struct Reader::Impl {
  archive* handle = archive_read_new();
  std::size_t entries = 0;
  std::uint64_t bytes = 0;

  ~Impl() { archive_read_free(handle); }
  // Warnings are about names and owners that the present locale can't show.
  void check(int code) const {
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN)
      throw BadArchive("the source isn't a complete tar archive: " + words_of(handle));
  }
};

Reader::Reader(const std::filesystem::path& file) : impl_(std::make_unique<Impl>()) {
  archive* handle = impl_->handle;
  impl_->check(archive_read_support_format_tar(handle));
  impl_->check(archive_read_support_filter_gzip(handle));
  impl_->check(archive_read_open_filename(handle, file.c_str(), block_bytes));
}

Reader::~Reader() = default;

std::optional<Entry> Reader::next() {
  while (true) {
    archive_entry* found = nullptr;
    const int code = archive_read_next_header(impl_->handle, &found);
    if (code == ARCHIVE_EOF) return std::nullopt;
    impl_->check(code);
    if (++impl_->entries > max_entries)
      throw BadArchive("the source has more than " + std::to_string(max_entries) + " files");
    const char* name = archive_entry_pathname(found);
    if (name == nullptr) name = archive_entry_pathname_utf8(found);
    if (name == nullptr) throw BadArchive("the source has a file without a name");
    const mode_t type = archive_entry_filetype(found);
    const auto path = normalised(name);
    // The top itself has nothing to say.
    if (!path && type == AE_IFDIR && normalised(std::string(name) + "/x") == "x") continue;
    if (!path) throw BadArchive("the source has a file whose path isn't within it");
    Entry entry = {.type = Entry::Type::file,
                   .path = *path,
                   .is_executable = (archive_entry_perm(found) & any_execution) != 0,
                   .target = {},
                   .size = std::uint64_t(std::max<std::int64_t>(archive_entry_size(found), 0)),
                   .modified = archive_entry_mtime(found)};
    if (archive_entry_hardlink(found) != nullptr)
      throw BadArchive("the source has a hard link (" + *path + "), which isn't supported");
    if (type == AE_IFDIR) {
      entry.type = Entry::Type::directory;
    } else if (type == AE_IFLNK) {
      const char* target = archive_entry_symlink(found);
      entry.type = Entry::Type::link;
      entry.target = target == nullptr ? "" : target;
      if (!stays_inside(entry.path, entry.target))
        throw BadArchive("the symbolic link " + *path + " leads out of the source");
    } else if (type != AE_IFREG) {
      throw BadArchive(*path + " is neither a file, a directory nor a symbolic link");
    }
    if (entry.type != Entry::Type::file) entry.size = 0;
    if (entry.size > max_unpacked_bytes - impl_->bytes)
      throw BadArchive("the source has more than " +
                       std::to_string(max_unpacked_bytes / 1024 / 1024) + " MiB when unpacked");
    return entry;
  }
}

std::size_t Reader::read(char* data, std::size_t size) {
  const la_ssize_t count = archive_read_data(impl_->handle, data, size);
  if (count < 0) impl_->check(ARCHIVE_FATAL);
  impl_->bytes += std::uint64_t(count);
  if (impl_->bytes > max_unpacked_bytes)
    throw BadArchive("the source has more than " +
                     std::to_string(max_unpacked_bytes / 1024 / 1024) + " MiB when unpacked");
  return std::size_t(count);
}

std::string Reader::text(std::size_t most) {
  std::string result(most + 1, '\0');
  std::size_t filled = 0;
  while (filled < result.size()) {
    const std::size_t count = read(result.data() + filled, result.size() - filled);
    if (count == 0) break;
    filled += count;
  }
  if (filled > most)
    throw BadArchive("the instructions have more than " + std::to_string(most / 1024) + " KiB");
  result.resize(filled);
  return result;
}

struct Writer::Impl {
  archive* handle = archive_write_new();
  std::filesystem::path file;
  ~Impl() { archive_write_free(handle); }
  void check(int code) const {
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN)
      throw std::runtime_error(file.string() + " can't be written: " + words_of(handle));
  }
};

Writer::Writer(const std::filesystem::path& file, Compression compression)
    : impl_(std::make_unique<Impl>()) {
  archive* handle = impl_->handle;
  impl_->file = file;
  // The format of GNU tar has names as they are, whatever the locale.
  impl_->check(archive_write_set_format_gnutar(handle));
  if (compression == Compression::gzip) {
    impl_->check(archive_write_add_filter_gzip(handle));
    // The same source makes the same archive.
    impl_->check(archive_write_set_filter_option(handle, "gzip", "timestamp", nullptr));
  }
  impl_->check(archive_write_open_filename(handle, file.c_str()));
}

Writer::~Writer() = default;

void Writer::add(const Entry& entry, const std::function<std::size_t(char*, std::size_t)>& read) {
  struct Free {
    void operator()(archive_entry* each) const { archive_entry_free(each); }
  };
  const std::unique_ptr<archive_entry, Free> header(archive_entry_new());
  archive_entry_copy_pathname(header.get(), entry.path.c_str());
  archive_entry_set_mtime(header.get(), entry.modified, 0);
  archive_entry_set_size(header.get(), std::int64_t(entry.size));
  switch (entry.type) {
    case Entry::Type::directory:
      archive_entry_set_filetype(header.get(), AE_IFDIR);
      archive_entry_set_perm(header.get(), mode_of_directory);
      break;
    case Entry::Type::file:
      archive_entry_set_filetype(header.get(), AE_IFREG);
      archive_entry_set_perm(header.get(), entry.is_executable ? mode_of_program : mode_of_file);
      break;
    case Entry::Type::link:
      archive_entry_set_filetype(header.get(), AE_IFLNK);
      archive_entry_copy_symlink(header.get(), entry.target.c_str());
      archive_entry_set_perm(header.get(), mode_of_link);
      break;
  }
  impl_->check(archive_write_header(impl_->handle, header.get()));
  if (entry.type != Entry::Type::file) return;
  std::vector<char> block(block_bytes);
  for (std::uint64_t left = entry.size; left > 0;) {
    const std::size_t count =
        read(block.data(), std::size_t(std::min<std::uint64_t>(left, block.size())));
    if (count == 0) throw std::runtime_error(entry.path + " became shorter while it was packed");
    if (archive_write_data(impl_->handle, block.data(), count) != la_ssize_t(count))
      impl_->check(ARCHIVE_FATAL);
    left -= count;
  }
}

void Writer::add(const Entry& entry, std::string_view contents) {
  Entry sized = entry;
  sized.size = contents.size();
  add(sized, [&](char* data, std::size_t size) {
    const std::size_t count = std::min(size, contents.size());
    std::ranges::copy(contents.substr(0, count), data);
    contents.remove_prefix(count);
    return count;
  });
}

void Writer::close() { impl_->check(archive_write_close(impl_->handle)); }

Contents examine(const std::filesystem::path& file, const std::string& containerfile) {
  Reader reader(file);
  Contents contents;
  std::size_t rank = std::size(containerfile_names);  // of the name that was found
  std::vector<char> block(block_bytes);
  while (const auto entry = reader.next()) {
    ++contents.entries;
    contents.bytes += entry->size;
    if (entry->type != Entry::Type::file) continue;
    const auto name = std::ranges::find(containerfile_names, entry->path);
    const std::size_t place = std::size_t(name - std::begin(containerfile_names));
    if (containerfile.empty() ? place < rank : entry->path == containerfile) {
      rank = place;
      contents.containerfile = entry->path;
      contents.containerfile_text = reader.text(max_containerfile_bytes);
    }
    while (reader.read(block.data(), block.size()) > 0) {
    }
  }
  if (contents.containerfile.empty())
    throw BadArchive(containerfile.empty()
                         ? "the source has no Containerfile (or Dockerfile) at its top"
                         : "the source has no file " + containerfile);
  return contents;
}

}  // namespace berth::source
