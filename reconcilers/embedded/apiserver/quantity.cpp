#include "reconcilers/embedded/apiserver/quantity.h"

#include <algorithm>
#include <cmath>

#include "controller/base/quantity.h"

namespace berth::embedded {
namespace {

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

// Returns the format of the text, which must be a quantity.
Quantity::Format format_of(std::string_view text) {
  if (text.ends_with('i')) return Quantity::Format::binary;
  const size_t exponent = text.find_first_of("eE");
  const bool is_exa = exponent + 1 == text.size();
  return exponent == std::string_view::npos || is_exa ? Quantity::Format::decimal
                                                      : Quantity::Format::exponent;
}

}  // namespace

std::optional<Quantity> Quantity::parse(std::string_view text) {
  const auto value = parse_quantity(text);
  if (!value) return std::nullopt;
  const long double milli = std::clamp(std::ceil(*value * 1000.0L - 1e-9L), -most, most);
  return Quantity(static_cast<std::int64_t>(milli), format_of(text));
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

}  // namespace berth::embedded
