#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace berth {

// How many characters (code points) a UTF-8 text has.
inline size_t characters(std::string_view utf8) {
  return size_t(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// The first `most` bytes of a UTF-8 text at most, in whole characters.
inline std::string cut(std::string_view utf8, size_t most) {
  if (utf8.size() <= most) return std::string(utf8);
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(utf8[end]) & 0xc0) == 0x80) --end;
  return std::string(utf8.substr(0, end));
}

}  // namespace berth
