#pragma once

#include <string>
#include <string_view>

#include "controller/base/clock.h"

namespace berth {

// A new UUIDv7 (RFC 9562, section 5.7), which sorts by its time of creation. Ids that a thread makes
// for the same millisecond, one after another, sort in their order. It holds 48 random bits, so it
// is no secret. Thread-safe.
std::string new_uuid(Instant now);
// Whether `text` is a UUID of any version, in lower or upper case, with hyphens.
bool is_uuid(std::string_view text);

}  // namespace berth
