#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "controller/base/clock.h"

struct psl_ctx_st;

// The public suffix list (publicsuffix.org), which says under which names anybody can register
// domains. It is read once: from the machine's file, or from libpsl's built-in copy if that is
// newer. A newer file takes effect at berthd's next start.
namespace berth::suffix_list {

struct Source {
  std::filesystem::path file;  // empty for libpsl's built-in copy
  Instant as_of;               // when the list was made
};

// A list of this age may lack newer registries, all of whose customers would then count as one
// owner.
inline constexpr Duration old_age = std::chrono::days(365);
inline bool is_old(const Source& source, Instant now) { return now - source.as_of > old_age; }

// Returns when the list in `file` was made: the ISO 8601 time in the file `file`.date, or else the
// file's modification time, which Debian's package preserves. Container images give all files the
// image's own time, so they need the first. Returns nothing if there is no such file.
std::optional<Instant> date_of(const std::filesystem::path& file);

// Return the list in use and where it comes from. Thread-safe.
const psl_ctx_st* list();
const Source& source();

// Logs which list is in use, with a warning if it is old.
void announce(Instant now);

}  // namespace berth::suffix_list
