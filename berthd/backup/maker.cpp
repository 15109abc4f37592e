#include "berthd/backup/maker.h"

#include <fcntl.h>

#include "berthd/backup/room.h"
#include "controller/base/error.h"
#include "controller/base/log.h"

namespace berth::backup {
namespace {

constexpr size_t bytes_of_a_step = 256 * 1024;

void check_sound(const db::sqlite::Soundness& found) {
  if (found.sound()) return;
  const std::string problem =
      found.integrity.empty() ? found.foreign_keys.front() : found.integrity.front();
  log::error("the database copy for a backup isn't sound",
             {{"problem", problem},
              {"integrity", found.integrity.size()},
              {"foreign_keys", found.foreign_keys.size()}});
  throw Error(Code::internal_error, "the database is damaged: " + problem);
}

std::string read_keys(const DataDir& data) {
  const OpenFile file(data.path() / keys_name, O_RDONLY);
  constexpr size_t most = 1 << 20;
  std::string text = read_some(file.get(), most);
  parse_keys(text);
  return text;
}

}  // namespace

Source file_of(const DataDir& data) {
  const std::filesystem::path file = data.database_file();
  return {.copy = [file](const std::filesystem::path& to,
                         const db::sqlite::GoOn& go_on) { db::sqlite::copy(file, to, go_on); },
          .bytes = [file] { return bytes_of(file); }};
}

std::unique_ptr<Outgoing> Maker::begin(const std::string& key) {
  if (busy_.exchange(true)) throw Error(Code::unavailable, "another backup is running");
  const std::shared_ptr<void> turn(nullptr, [this](void*) { busy_ = false; });
  const std::filesystem::path copy = data_.path() / database_copy_name;
  const db::sqlite::GoOn go_on = [this] { return !stopped_; };
  if (!has_room(data_.path(), source_.bytes()))
    throw Error(Code::unavailable, "the disk has no room for a copy of the database");
  try {
    source_.copy(copy, go_on);
    check_sound(db::sqlite::examine(copy, go_on));
    // The keys are read after the database. Since keys are only added, none is missing that the
    // database needs.
    const Outgoing::Parts parts = {
        .keys_text = read_keys(data_), .database = copy, .version = version_, .now = clock_.now()};
    return std::make_unique<Outgoing>(key, parts, turn);
  } catch (const db::sqlite::Stopped&) {
    std::filesystem::remove(copy);
    throw Error(Code::unavailable, "berthd is stopping");
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(copy, ignored);
    throw;
  }
}

Outgoing::Outgoing(const std::string& key, const Parts& parts, std::shared_ptr<void> turn)
    : turn_(std::move(turn)),
      file_(parts.database, O_RDONLY),
      sealer_(key, [this](std::string_view bytes) { sealed_ += bytes; }) {
  const Manifest manifest = {
      .version = parts.version,
      .made_at = parts.now,
      .files = {{.name = keys_name, .size = parts.keys_text.size()},
                {.name = database_name, .size = std::filesystem::file_size(parts.database)}}};
  std::filesystem::remove(parts.database);
  size_ = sealed_file::sealed_size(total_size(manifest));
  sealer_.write(encode(manifest));
  sealer_.write(parts.keys_text);
}

bool Outgoing::step(const std::function<void(std::string_view)>& sink) {
  const std::string bytes = read_some(file_.get(), bytes_of_a_step);
  sealer_.write(bytes);
  if (bytes.empty()) sealer_.finish();
  if (!sealed_.empty()) sink(sealed_);
  sealed_.clear();
  complete_ = bytes.empty();
  return !complete_;
}

}  // namespace berth::backup
