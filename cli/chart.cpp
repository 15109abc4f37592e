#include "cli/chart.h"

#include <algorithm>
#include <array>

#include "cli/output.h"

namespace berth::cli {
namespace {

constexpr std::array eighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

struct Drawn {
  std::string text;
  int cells = 0;
};

Drawn draw(std::int64_t value, std::int64_t largest, int width, Characters characters) {
  const int steps = characters == Characters::utf8 ? 8 : 1;
  // Points go up to 2^53-1, so products of integers could overflow.
  const double share = largest == 0 ? 0 : double(value) / double(largest);
  const int length = value == 0 ? 0 : std::max(1, int(share * width * steps));
  Drawn bar;
  for (int i = 0; i < length / steps; ++i) bar.text += steps == 8 ? "█" : "#";
  bar.text += eighths[size_t(length % steps)];
  bar.cells = length / steps + (length % steps > 0 ? 1 : 0);
  return bar;
}

}  // namespace

std::string bar_chart(const std::vector<Bar>& bars, int width, Characters characters) {
  std::int64_t largest = 0;
  size_t label_width = 0;
  size_t value_width = 0;
  for (const Bar& bar : bars) {
    largest = std::max(largest, bar.value);
    label_width = std::max(label_width, bar.label.size());
    value_width = std::max(value_width, std::to_string(bar.value).size());
  }
  std::string result;
  for (const Bar& bar : bars) {
    const Drawn drawn = draw(bar.value, largest, width, characters);
    const std::string value = std::to_string(bar.value);
    result += printable(bar.label) + std::string(label_width - bar.label.size() + 2, ' ') +
              drawn.text + std::string(size_t(width - drawn.cells + 2), ' ') +
              std::string(value_width - value.size(), ' ') + value +
              (bar.note.empty() ? "" : "  " + printable(bar.note)) + "\n";
  }
  return result;
}

}  // namespace berth::cli
