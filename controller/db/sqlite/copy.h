#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

// Copies the SQLite file, and checks whether a file is sound. Both open connections of their own
// and only read the source.
namespace berth::db::sqlite {

// The copy or check was ended because `go_on` returned false.
struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("was stopped") {}
};
// Returns whether to continue. Called after every few milliseconds of work.
using GoOn = std::function<bool()>;

// Copies the database at `source` into a new file of mode 0600 at `target`, page by page. The copy
// is one snapshot with everything that had been committed when it began. Other connections read and
// write `source` meanwhile without waiting; only its WAL can't be reused until the copy is done.
// The copy is a single file without a WAL. Throws Stopped or SQLite::Exception, after removing
// `target`.
void copy(const std::filesystem::path& source, const std::filesystem::path& target,
          const GoOn& go_on);

// The most problems of each kind that examine() reports.
inline constexpr int max_problems = 20;
struct Soundness {
  std::vector<std::string> integrity;
  std::vector<std::string> foreign_keys;
  bool sound() const { return integrity.empty() && foreign_keys.empty(); }
};
// Reports the problems that PRAGMA integrity_check and PRAGMA foreign_key_check find, as sentences.
// A sound file has none. Throws Stopped or SQLite::Exception.
Soundness examine(const std::filesystem::path& file, const GoOn& go_on);

}  // namespace berth::db::sqlite
