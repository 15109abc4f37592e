#pragma once

#include <string>
#include <string_view>

#include "controller/base/clock.h"

namespace berth {

// Makes a UUIDv7 (RFC 9562, section 5.7), which sorts by `now`. Ids that a thread makes in a row
// for the same millisecond sort in the order in which they were made. 48 bits are random, which
// keeps ids different but not secret. Thread-safe.
std::string new_uuid(Instant now);
// Whether `text` is a UUID of any version, in lower or upper case, with hyphens.
bool is_uuid(std::string_view text);

}  // namespace berth
