#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "controller/base/clock.h"

struct psl_ctx_st;

// The public suffix list (publicsuffix.org), by which is known what somebody can register: the
// machine's copy where it is newer than the one inside of libpsl. It is read once, so that another
// one counts from the next start.
namespace berth::suffix_list {

struct Source {
  std::filesystem::path file;  // empty: the one inside of libpsl
  Instant as_of;               // when the list was made
};

// A registry that opened later isn't in it: its customers would count as one owner.
inline constexpr Duration old_age = std::chrono::days(365);
inline bool is_old(const Source& source, Instant now) { return now - source.as_of > old_age; }

// When the list in `file` was made: what stands in `file`.date, in ISO 8601, or else when the file
// was last modified, as Debian's package keeps it. In an image all files have the image's time, so
// that it has the first. Nothing where there is no such file.
std::optional<Instant> date_of(const std::filesystem::path& file);

// The list in use. Thread-safe.
const psl_ctx_st* list();
const Source& source();

// Says in the log which list is in use, with a warning where it is old.
void announce(Instant now);

}  // namespace berth::suffix_list
