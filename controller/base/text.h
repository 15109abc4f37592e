#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// The text with spaces in the place of NULs, which programs may write and PostgreSQL stores in no
// text.
inline std::string without_nuls(std::string_view text) {
  std::string result(text);
  std::ranges::replace(result, '\0', ' ');
  return result;
}

// The text without the spaces and tabs at both of its ends, as fields of HTTP may have them
// (RFC 9110, section 5.6.3).
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// The items with `between` between them.
inline std::string joined(const std::vector<std::string>& items, std::string_view between) {
  std::string text;
  for (const std::string& item : items) {
    if (!text.empty()) text += between;
    text += item;
  }
  return text;
}

// The longest beginning of a caller's text that an error message repeats.
inline constexpr size_t max_shown_bytes = 64;

// Returns the beginning of a UTF-8 text of any length in the form in which an error message may
// repeat it.
inline std::string shown(std::string_view utf8) {
  return utf8.size() <= max_shown_bytes ? std::string(utf8) : cut(utf8, max_shown_bytes) + "…";
}

// Returns the decimal number that the whole text is; a minus sign is taken for signed types.
// Returns nothing for any other text, such as one with blanks or a plus sign, and for a number that
// the type can't hold.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

inline constexpr int max_port = 65'535;

// Whether the text is the number of a port that a program can listen on: 1 to 65535, and only
// digits.
inline bool is_port(std::string_view text) {
  const auto port = parse_number<int>(text);
  return port && *port >= 1 && *port <= max_port;
}

}  // namespace berth
