#include "reconcilers/cluster/quantity.h"

#include <array>
#include <charconv>
#include <utility>

namespace berth::reconcilers {
namespace {

constexpr double kibi = 1024;
constexpr std::array<std::pair<std::string_view, double>, 15> suffixes = {
    {{"", 1},
     {"n", 1e-9},
     {"u", 1e-6},
     {"m", 1e-3},
     {"k", 1e3},
     {"M", 1e6},
     {"G", 1e9},
     {"T", 1e12},
     {"P", 1e15},
     {"E", 1e18},
     {"Ki", kibi},
     {"Mi", kibi* kibi},
     {"Gi", kibi* kibi* kibi},
     {"Ti", kibi* kibi* kibi* kibi},
     {"Pi", kibi* kibi* kibi* kibi* kibi}}};

}  // namespace

std::optional<double> quantity(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  // 1e3 is a thousand, but 1E is an exa (10^18): an exponent is one only if digits follow.
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc()) return std::nullopt;
  const std::string_view suffix(rest, size_t(end - rest));
  for (const auto& [name, factor] : suffixes)
    if (suffix == name) return number * factor;
  return std::nullopt;
}

}  // namespace berth::reconcilers
