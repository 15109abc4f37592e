#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace berth {

// The number of characters (code points) of a UTF-8 text.
inline size_t characters(std::string_view utf8) {
  return size_t(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// At most the first `most` bytes of a UTF-8 text, without cutting a character in two.
inline std::string cut(std::string_view utf8, size_t most) {
  if (utf8.size() <= most) return std::string(utf8);
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(utf8[end]) & 0xc0) == 0x80) --end;
  return std::string(utf8.substr(0, end));
}

// The text without the spaces and tabs at both of its ends, as fields of HTTP may have them
// (RFC 9110, section 5.6.3).
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// The longest beginning of a caller's text that an error message repeats.
inline constexpr size_t max_shown_bytes = 64;

// Returns the beginning of a UTF-8 text of any length in the form in which an error message may
// repeat it.
inline std::string shown(std::string_view utf8) {
  return utf8.size() <= max_shown_bytes ? std::string(utf8) : cut(utf8, max_shown_bytes) + "…";
}

// Whether the text is the number of a port that a program can listen on: 1 to 65535, and only
// digits.
inline bool is_port(std::string_view text) {
  int port = 0;
  const auto [read, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && read == text.data() + text.size() && port >= 1 && port <= 65'535;
}

}  // namespace berth
