#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::cli {

struct Bar {
  std::string label;
  std::int64_t value = 0;  // not below 0
  std::string note;        // behind the value
};

enum class Characters { ascii, utf8 };

// A horizontal bar for each, the largest `width` cells long, the values behind them. In UTF-8 in
// eighths of a cell. A value above 0 always shows something.
std::string bar_chart(const std::vector<Bar>& bars, int width, Characters characters);

}  // namespace berth::cli
