#include "berthd/backup/archive.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "berthd/backup/files.h"
#include "berthd/data_dir.h"
#include "controller/base/sealed_file.h"

namespace berth::backup {
namespace {

using nlohmann::json;
using sealed_file::Damaged;

constexpr int format = 1;
constexpr size_t length_bytes = 4;
constexpr size_t max_manifest_bytes = 64 * 1024;

size_t manifest_length(std::string_view start) {
  size_t length = 0;
  for (const unsigned char byte : start.substr(0, length_bytes)) length = length << 8 | byte;
  if (length > max_manifest_bytes) throw Damaged("the archive's manifest is too long");
  return length;
}

Manifest decode(std::string_view text) {
  try {
    const json content = json::parse(text);
    if (content.at("format") != format)
      throw Damaged("the archive was made by a newer berthd: its format is " +
                    content.at("format").dump());
    const auto made_at = parse_iso8601(content.at("made_at").get<std::string>());
    if (!made_at) throw Damaged("the archive's manifest doesn't say when the archive was made");
    Manifest manifest = {.version = content.at("berth"), .made_at = *made_at, .files = {}};
    for (const json& file : content.at("files"))
      manifest.files.push_back({.name = file.at("name"), .size = file.at("size")});
    return manifest;
  } catch (const json::exception& failure) {
    throw Damaged(std::string("the archive's manifest can't be read: ") + failure.what());
  }
}

}  // namespace

std::string encode(const Manifest& manifest) {
  json files = json::array();
  for (const File& file : manifest.files)
    files.push_back({{"name", file.name}, {"size", file.size}});
  const std::string text = json{
      {"format", format},
      {"berth", manifest.version},
      {"made_at", to_iso8601(manifest.made_at)},
      {"files", files}}.dump();
  std::string result;
  for (size_t i = length_bytes; i > 0; --i) result += char(text.size() >> (8 * (i - 1)));
  return result + text;
}

std::uint64_t total_size(const Manifest& manifest) {
  std::uint64_t size = encode(manifest).size();
  for (const File& file : manifest.files) size += file.size;
  return size;
}

Unpacker::~Unpacker() {
  if (file_ >= 0) ::close(file_);
}

void Unpacker::read_manifest() {
  if (waiting_.size() < length_bytes) return;
  const size_t end = length_bytes + manifest_length(waiting_);
  if (waiting_.size() < end) return;
  manifest_ = decode(std::string_view(waiting_).substr(length_bytes, end - length_bytes));
  // Only these two names are accepted, so that a name from the archive never becomes a path.
  const bool ours = manifest_.files.size() == 2 && manifest_.files[0].name == keys_name &&
                    manifest_.files[1].name == database_name;
  if (!ours) throw Damaged("the archive doesn't contain the keys and the database");
  has_manifest_ = true;
  const std::string rest = waiting_.substr(end);
  waiting_.clear();
  open_next();
  write(rest);
}

void Unpacker::write(std::string_view bytes) {
  if (!has_manifest_) {
    waiting_ += bytes;
    return read_manifest();
  }
  while (!bytes.empty()) {
    if (file_ < 0) throw Damaged("the archive contains more than its manifest says");
    const size_t taken = size_t(std::min<std::uint64_t>(bytes.size(), left_of_file_));
    write_all(file_, bytes.substr(0, taken));
    left_of_file_ -= taken;
    bytes.remove_prefix(taken);
    if (left_of_file_ == 0) {
      close_file();
      open_next();
    }
  }
}

// Empty files are complete at once.
void Unpacker::open_next() {
  while (next_file_ < manifest_.files.size() && file_ < 0) {
    const File& next = manifest_.files[next_file_++];
    file_ = open_private(directory_ / next.name, O_WRONLY | O_CREAT | O_EXCL);
    left_of_file_ = next.size;
    if (left_of_file_ == 0) close_file();
  }
}

void Unpacker::close_file() {
  sync(file_);
  ::close(file_);
  file_ = -1;
}

Manifest Unpacker::finish() {
  if (!has_manifest_ || file_ >= 0 || next_file_ < manifest_.files.size())
    throw Damaged("the archive contains less than its manifest says");
  sync_directory(directory_);
  return manifest_;
}

}  // namespace berth::backup
