#pragma once

#include <string>

#include "controller/base/ascii.h"
#include "controller/base/id.h"

namespace berth::api {

// Gives a UUID lower-case letters, in which berth stores and compares ids; both cases name the same
// id (RFC 9562, section 4). Leaves every other text as it is.
inline void write_id_in_lower_case(std::string& text) {
  if (is_uuid(text)) text = lower_case(text);
}

}  // namespace berth::api
