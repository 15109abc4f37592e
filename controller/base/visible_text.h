#pragma once

#include <string_view>

// What may stand in texts that people write for one another.
namespace berth {

// Whether nobody sees anything of it: white space and zero-width characters alone, or nothing.
bool is_blank(std::string_view utf8);

enum class Lines { one, several };  // several: with tabs and line ends
// Whether it has control characters, line ends where it is one line, or overrides of direction
// (U+202D, U+202E), which show a text in another order than the one it is read and filtered in.
bool has_controls(std::string_view utf8, Lines lines);

}  // namespace berth
