#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace berth {

// Whether all bytes are below 0x80.
inline bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c < 0x80; });
}

// These functions change the letters of ASCII to lower case, whatever the locale is: they are for
// host names, names of header fields and the like. All other bytes stay as they are.
constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

inline std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower_case(c);
  return result;
}

inline bool equal_in_lower_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower_case(x) == lower_case(y); });
}

}  // namespace berth
