#pragma once

#include <string_view>

// Checks of texts that users write for one another.
namespace berth {

// Whether nothing of the text is visible: it is empty, or only white space and zero-width
// characters.
bool is_blank(std::string_view utf8);

enum class Lines { one, several };  // several: tabs and line ends are allowed
// Whether the text contains control characters (including line ends, if only one line is allowed)
// or overrides of direction (U+202D, U+202E), which display a text in another order than it is read
// and filtered in.
bool has_controls(std::string_view utf8, Lines lines);

}  // namespace berth
