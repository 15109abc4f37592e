#pragma once

#include <string>
#include <string_view>

#include "controller/base/clock.h"

namespace berth {

// A UUIDv7 (RFC 9562, section 5.7): sorts by the time it was made. Thread-safe.
std::string new_uuid(Instant now);
// Whether `text` is a UUID of any version in its lower-case or upper-case form with hyphens.
bool is_uuid(std::string_view text);

}  // namespace berth
