#pragma once

#include <string>

#include "controller/base/id.h"

namespace berth::api {

// Gives a UUID lower-case letters, in which berth stores and compares ids; both cases name the same
// id (RFC 9562, section 4). Leaves every other text as it is.
inline void write_id_in_lower_case(std::string& text) {
  if (!is_uuid(text)) return;
  for (char& c : text)
    if (c >= 'A' && c <= 'F') c = char(c - 'A' + 'a');
}

}  // namespace berth::api
