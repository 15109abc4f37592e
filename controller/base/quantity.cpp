#include "controller/base/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace berth {
namespace {

struct Suffix {
  std::string_view text;
  long double factor;
  // Factors below 1 are written as a division by a whole number, so that 700m becomes exactly the
  // number that 0.7 is.
  long double divisor = 1;
};

constexpr long double kibi = 1024;
constexpr std::array suffixes = {
    Suffix{"", 1},
    Suffix{"n", 1, 1e9L},
    Suffix{"u", 1, 1e6L},
    Suffix{"m", 1, 1e3L},
    Suffix{"k", 1e3L},
    Suffix{"M", 1e6L},
    Suffix{"G", 1e9L},
    Suffix{"T", 1e12L},
    Suffix{"P", 1e15L},
    Suffix{"E", 1e18L},
    Suffix{"Ki", kibi},
    Suffix{"Mi", kibi* kibi},
    Suffix{"Gi", kibi* kibi* kibi},
    Suffix{"Ti", kibi* kibi* kibi* kibi},
    Suffix{"Pi", kibi* kibi* kibi* kibi* kibi},
    Suffix{"Ei", kibi* kibi* kibi* kibi* kibi* kibi},
};

}  // namespace

std::optional<long double> parse_quantity(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  long double number = 0;
  // 1e3 is a thousand, but 1E is an exa: an exponent is one only if digits follow.
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view digits = text.substr(0, size_t(end - text.data()));
  const std::string_view rest = text.substr(digits.size());
  const auto suffix = std::ranges::find(suffixes, rest, &Suffix::text);
  const bool has_exponent = digits.find_first_of("eE") != std::string_view::npos;
  if (suffix == suffixes.end() || (has_exponent && !rest.empty())) return std::nullopt;
  return number * suffix->factor / suffix->divisor;
}

}  // namespace berth
