#include "controller/base/visible_text.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace berth {
namespace {

constexpr std::string_view replacement = "\uFFFD";
constexpr UChar32 left_to_right_override = 0x202D;
constexpr UChar32 right_to_left_override = 0x202E;

// U8_NEXT mixes integers of different widths.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
// Returns the character at `at` and moves `at` behind it; a negative number if the bytes are
// invalid.
UChar32 next_character(std::string_view utf8, int32_t& at) {
  UChar32 character = 0;
  U8_NEXT(utf8.data(), at, static_cast<int32_t>(utf8.size()), character);
  return character;
}
#pragma GCC diagnostic pop

template <typename Predicate>
bool any_character(std::string_view utf8, Predicate&& is) {
  for (int32_t at = 0; size_t(at) < utf8.size();)
    if (is(next_character(utf8, at))) return true;
  return false;
}

bool is_line_end(UChar32 character) {
  const auto type = u_charType(character);
  return character == '\n' || type == U_LINE_SEPARATOR || type == U_PARAGRAPH_SEPARATOR;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  return !any_character(bytes, [](UChar32 character) { return character < 0; });
}

std::string well_formed(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (int32_t at = 0; size_t(at) < bytes.size();) {
    const int32_t begin = at;
    if (next_character(bytes, at) > 0)
      text += bytes.substr(size_t(begin), size_t(at - begin));
    else
      text += replacement;
  }
  return text;
}

bool is_blank(std::string_view utf8) {
  return !any_character(utf8, [](UChar32 character) {
    return character < 0 ||
           (!u_isUWhiteSpace(character) && u_charType(character) != U_CONTROL_CHAR &&
            !u_hasBinaryProperty(character, UCHAR_DEFAULT_IGNORABLE_CODE_POINT));
  });
}

bool has_controls(std::string_view utf8, Lines lines) {
  return any_character(utf8, [&](UChar32 character) {
    if (character == left_to_right_override || character == right_to_left_override) return true;
    if (character == '\t' || is_line_end(character)) return lines == Lines::one;
    return u_charType(character) == U_CONTROL_CHAR;
  });
}

}  // namespace berth
