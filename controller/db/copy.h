#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

// Copies of the SQLite file, and whether one is sound. They open connections of their own, and
// read.
namespace berth::db {

// `go_on` said no.
struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("was stopped") {}
};
// Asked every few milliseconds of work.
using GoOn = std::function<bool()>;

// Copies the database at `source` into a new file of mode 0600 at `target`, page by page: one
// snapshot with everything that was committed when it began. Others read and write `source`
// meanwhile and wait for nothing; only its WAL can't be reused until the copy is done. The copy is
// one file, without a WAL. Throws Stopped, SQLite::Exception; `target` is removed then.
void copy(const std::filesystem::path& source, const std::filesystem::path& target,
          const GoOn& go_on);

// What PRAGMA integrity_check and PRAGMA foreign_key_check find, as sentences; none where the file
// is sound. At most `max_problems`. Throws Stopped, SQLite::Exception.
inline constexpr int max_problems = 20;
struct Soundness {
  std::vector<std::string> integrity;
  std::vector<std::string> foreign_keys;
  bool sound() const { return integrity.empty() && foreign_keys.empty(); }
};
Soundness examine(const std::filesystem::path& file, const GoOn& go_on);

}  // namespace berth::db
