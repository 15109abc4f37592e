#include "reconcilers/simulated/apiserver/quantity.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace berth::simulated {
namespace {

struct Suffix {
  std::string_view text;
  Quantity::Format format;
  int power;  // of 10, or of 2 for binary suffixes
};

constexpr auto decimal = Quantity::Format::decimal;
constexpr auto binary = Quantity::Format::binary;
constexpr std::array<Suffix, 16> suffixes{{{"n", decimal, -9},
                                           {"u", decimal, -6},
                                           {"m", decimal, -3},
                                           {"", decimal, 0},
                                           {"k", decimal, 3},
                                           {"M", decimal, 6},
                                           {"G", decimal, 9},
                                           {"T", decimal, 12},
                                           {"P", decimal, 15},
                                           {"E", decimal, 18},
                                           {"Ki", binary, 10},
                                           {"Mi", binary, 20},
                                           {"Gi", binary, 30},
                                           {"Ti", binary, 40},
                                           {"Pi", binary, 50},
                                           {"Ei", binary, 60}}};

constexpr long double most = 4.6e18L;  // a little below 2^62, so that the sum of two still fits

std::string with_largest(std::int64_t whole, std::int64_t step,
                         const std::vector<std::string_view>& names) {
  size_t name = 0;
  while (whole != 0 && whole % step == 0 && name + 1 < names.size()) {
    whole /= step;
    ++name;
  }
  return std::to_string(whole) + std::string(names[name]);
}

}  // namespace

std::optional<Quantity> Quantity::parse(std::string_view text) {
  const size_t end_of_number = std::min(text.find_first_not_of("+-0123456789."), text.size());
  const std::string number(text.substr(0, end_of_number));
  const std::string_view suffix = text.substr(end_of_number);
  if (number.find_first_of("0123456789") == std::string::npos) return std::nullopt;
  if (number.find_first_of("+-", 1) != std::string::npos ||
      std::count(number.begin(), number.end(), '.') > 1)
    return std::nullopt;
  long double value = std::stold(number);
  Format format = decimal;
  const auto known = std::find_if(suffixes.begin(), suffixes.end(),
                                  [&](const Suffix& one) { return one.text == suffix; });
  if (known != suffixes.end()) {
    format = known->format;
    value *= std::pow(format == binary ? 2.0L : 10.0L, static_cast<long double>(known->power));
  } else if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E')) {
    const std::string power(suffix.substr(1));
    if (power.find_first_not_of("0123456789", power[0] == '-' || power[0] == '+' ? 1 : 0) !=
            std::string::npos ||
        power.size() > 3 || power == "-" || power == "+")
      return std::nullopt;
    format = Format::exponent;
    value *= std::pow(10.0L, std::stold(power));
  } else {
    return std::nullopt;
  }
  const long double milli = std::clamp(std::ceil(value * 1000.0L - 1e-9L), -most, most);
  return Quantity(static_cast<std::int64_t>(milli), format);
}

std::string Quantity::text() const {
  if (milli_ % 1000 != 0) return std::to_string(milli_) + "m";
  const std::int64_t whole = milli_ / 1000;
  switch (format_) {
    case Format::binary:
      return with_largest(whole, 1024, {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"});
    case Format::exponent:
      return with_largest(whole, 1000, {"", "e3", "e6", "e9", "e12", "e15", "e18"});
    case Format::decimal:
      break;
  }
  return with_largest(whole, 1000, {"", "k", "M", "G", "T", "P", "E"});
}

Quantity Quantity::operator+(const Quantity& other) const {
  return Quantity(milli_ + other.milli_, milli_ == 0 ? other.format_ : format_);
}

Quantity Quantity::operator-(const Quantity& other) const {
  return Quantity(milli_ - other.milli_, format_);
}

std::optional<Quantity> quantity_of(const Json& value) {
  if (value.is_string()) return Quantity::parse(value.get_ref<const std::string&>());
  if (value.is_number()) return Quantity::parse(value.dump());
  return std::nullopt;
}

}  // namespace berth::simulated
