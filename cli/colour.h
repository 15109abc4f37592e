#pragma once

#include <string>
#include <string_view>

// Colours of texts on a terminal (ECMA-48, section 8.3.117).
namespace berth::cli {

enum class Colour { none, bold, faint, red, green, yellow, cyan };

// Whether what is written to this file descriptor is shown in colour: it is a terminal that knows
// colours, and the variable NO_COLOR (no-color.org) isn't set.
bool shows_colours(int fd);

// Returns the text in a colour. The text must not contain control characters.
std::string painted(const std::string& text, Colour colour);

// Green for the states in which all is well, red for failures, yellow for what is under way and
// faint for what has ended.
Colour colour_of_state(std::string_view state);

}  // namespace berth::cli
