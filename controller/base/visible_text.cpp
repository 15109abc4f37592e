#include "controller/base/visible_text.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <stdexcept>

#include "controller/base/ascii.h"

namespace berth {
namespace {

constexpr std::string_view replacement = "\uFFFD";
constexpr UChar32 left_to_right_override = 0x202D;
constexpr UChar32 right_to_left_override = 0x202E;

// U8_NEXT mixes integers of different widths.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
// Returns the character at `at` and advances `at` past it. Returns a negative number if the bytes
// are invalid.
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

std::u32string code_points(std::string_view bytes) {
  std::u32string all;
  for (int32_t at = 0; size_t(at) < bytes.size();) {
    const UChar32 character = next_character(bytes, at);
    all.push_back(character < 0 ? U'\uFFFD' : static_cast<char32_t>(character));
  }
  return all;
}

bool is_blank(std::string_view utf8) {
  return !any_character(utf8, [](UChar32 character) {
    return character < 0 ||
           (!u_isUWhiteSpace(character) && u_charType(character) != U_CONTROL_CHAR &&
            !u_hasBinaryProperty(character, UCHAR_DEFAULT_IGNORABLE_CODE_POINT));
  });
}

namespace {

bool is_control(UChar32 character, Lines lines) {
  if (character == left_to_right_override || character == right_to_left_override) return true;
  if (character == '\t' || is_line_end(character)) return lines == Lines::one;
  return u_charType(character) == U_CONTROL_CHAR;
}

}  // namespace

bool has_controls(std::string_view utf8, Lines lines) {
  return any_character(utf8, [&](UChar32 character) { return is_control(character, lines); });
}

std::string without_controls(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (int32_t at = 0; size_t(at) < bytes.size();) {
    const int32_t begin = at;
    const UChar32 character = next_character(bytes, at);
    if (character > 0 && !is_control(character, Lines::one))
      text += bytes.substr(size_t(begin), size_t(at - begin));
    else
      text += replacement;
  }
  return text;
}

namespace {

bool has_pile_of_marks(std::string_view utf8) {
  int marks = 0;
  return any_character(utf8, [&](UChar32 character) {
    marks = character >= 0 && u_getCombiningClass(character) != 0 ? marks + 1 : 0;
    return marks > max_marks;
  });
}

}  // namespace

std::optional<std::string_view> refusal_of_text(std::string_view utf8, Lines lines) {
  if (utf8.empty()) return std::nullopt;
  if (has_controls(utf8, lines))
    return lines == Lines::one
               ? "must be one line, without control characters and characters that override the "
                 "direction of text"
               : "must not contain control characters or characters that override the direction "
                 "of text";
  if (is_blank(utf8)) return "must have a visible character";
  if (has_pile_of_marks(utf8)) return "must not have more than 30 marks in a row";
  return std::nullopt;
}

std::string composed(std::string_view utf8, Lines lines) {
  std::string text(utf8);
  if (lines == Lines::several)
    for (size_t at = 0; (at = text.find("\r\n", at)) != std::string::npos;) text.erase(at, 1);
  if (is_ascii(text) || has_pile_of_marks(text)) return text;
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* const nfc = icu::Normalizer2::getNFCInstance(status);
  std::string result;
  icu::StringByteSink<std::string> sink(&result);
  if (U_SUCCESS(status))
    nfc->normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink,
                       nullptr, status);
  if (U_FAILURE(status))
    throw std::runtime_error(std::string("ICU's normalizer: ") + u_errorName(status));
  return result;
}

}  // namespace berth
