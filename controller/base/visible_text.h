#pragma once

#include <string>
#include <string_view>

// Checks of texts that users write for one another, or that strangers' programs send.
namespace berth {

bool is_utf8(std::string_view bytes);

// The text with U+FFFD in place of each sequence of bytes that isn't UTF-8, and of each NUL. For
// bytes that nobody has checked, such as a header or a server's reply, before they are stored:
// PostgreSQL stores neither.
std::string well_formed(std::string_view bytes);

// Whether nothing of the text is visible: it is empty, or only white space and zero-width
// characters.
bool is_blank(std::string_view utf8);

enum class Lines { one, several };  // several: tabs and line ends are allowed
// Whether the text contains control characters (including line ends, if only one line is allowed)
// or overrides of direction (U+202D, U+202E), which display a text in another order than it is read
// and filtered in.
bool has_controls(std::string_view utf8, Lines lines);

}  // namespace berth
