#pragma once

#include <optional>
#include <string>
#include <string_view>

// Checks of texts that users write for one another, or that strangers' programs send.
namespace berth {

bool is_utf8(std::string_view bytes);

// The text with U+FFFD in place of each sequence of bytes that isn't UTF-8, and of each NUL. For
// bytes that nobody has checked, such as a header or a server's reply, before they are stored:
// PostgreSQL stores neither.
std::string well_formed(std::string_view bytes);

// The text's code points, with U+FFFD in place of what isn't UTF-8.
std::u32string code_points(std::string_view bytes);

// Whether nothing of the text is visible: it is empty, or only white space and zero-width
// characters.
bool is_blank(std::string_view utf8);

enum class Lines { one, several };  // several: tabs and line ends are allowed
// Whether the text contains control characters (including line ends, if only one line is allowed)
// or overrides of direction (U+202D, U+202E), which display a text in another order than it is read
// and filtered in.
bool has_controls(std::string_view utf8, Lines lines);

// How many marks may follow one another in a text (UAX #15, section 13, "Stream-Safe Text
// Format"). No language needs more, and composing a text takes time that grows with the square of
// this number.
inline constexpr int max_marks = 30;

// The text with U+FFFD also in place of what has_controls(…, Lines::one) finds: for what strangers'
// programs send about themselves, before it is stored and shown.
std::string without_controls(std::string_view bytes);

// The rule for texts that somebody else reads. Returns why the text breaks it, as the end of a
// sentence that begins with the field's name; nothing if the text may be shown. A text with
// characters must have a visible one, and no controls, overrides of direction (has_controls()) or
// piles of marks. An empty text is allowed. Needs UTF-8.
std::optional<std::string_view> refusal_of_text(std::string_view utf8, Lines lines);

// Returns the text in Unicode's composed form (NFC, UAX #15), so that texts that look the same are
// the same bytes; with Lines::several, "\r\n" becomes "\n". A text with piles of marks, which
// refusal_of_text() refuses, stays as it is. The result may be longer than the text.
std::string composed(std::string_view utf8, Lines lines = Lines::one);

}  // namespace berth
