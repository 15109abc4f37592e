#include "controller/base/spelling.h"

#include <algorithm>

namespace berth {
namespace {

constexpr size_t longest = 64;
constexpr size_t short_text = 5;
constexpr size_t slips_of_short_text = 1;
constexpr size_t slips = 2;

// The optimal string alignment distance: each character is edited at most once.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const size_t wrong = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + wrong});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest_spelling(std::string_view text,
                                            const std::vector<std::string>& names) {
  if (text.size() > longest) return std::nullopt;
  size_t least = (text.size() < short_text ? slips_of_short_text : slips) + 1;
  std::optional<std::string> found;
  for (const std::string& name : names) {
    const size_t slips_to_name = distance(text, name);
    if (slips_to_name >= least) continue;
    least = slips_to_name;
    found = name;
  }
  return found;
}

}  // namespace berth
