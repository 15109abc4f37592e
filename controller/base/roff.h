#pragma once

#include <string>

// Pieces of manual pages in man(7) macros.
namespace berth::roff {

// Text as it is, with dashes that stay dashes and no line that would start a macro.
std::string escaped(const std::string& text);
// A paragraph with a heading in bold, as for a flag and its meaning.
std::string tagged(const std::string& tag, const std::string& text);

}  // namespace berth::roff
