#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::cli {

struct Bar {
  std::string label;
  std::int64_t value = 0;  // not negative
  std::string note;        // shown after the value
};

enum class Characters { ascii, utf8 };

// Draws a horizontal bar for each value, the largest one `width` cells long, followed by the value.
// In UTF-8 the bars are exact to an eighth of a cell. A value above 0 is always visible.
std::string bar_chart(const std::vector<Bar>& bars, int width, Characters characters);

}  // namespace berth::cli
