#pragma once

#include <algorithm>
#include <charconv>
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

// Whether it is the number of a port that somebody may listen on: 1 to 65535, in digits alone.
inline bool is_port(std::string_view text) {
  int port = 0;
  const auto [read, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && read == text.data() + text.size() && port >= 1 && port <= 65'535;
}

}  // namespace berth
