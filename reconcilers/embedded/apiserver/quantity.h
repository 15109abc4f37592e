#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reconcilers/embedded/apiserver/types.h"

// Amounts of resources (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/
// quantity/): `500m`, `0.5`, `128Mi`, `1e3`.
namespace berth::embedded {

class Quantity {
 public:
  enum class Format { decimal, binary, exponent };

  Quantity() = default;
  // Returns nothing if the text isn't a quantity. Amounts are kept in thousandths, rounded up, and
  // capped a little below 2^62 thousandths.
  static std::optional<Quantity> parse(std::string_view text);
  static Quantity of(std::int64_t whole) { return Quantity(whole * 1000, Format::decimal); }

  // The notation of Kubernetes: the largest suffix that leaves a whole number.
  std::string text() const;
  std::int64_t milli() const { return milli_; }

  Quantity operator+(const Quantity& other) const;
  Quantity operator-(const Quantity& other) const;
  bool operator<(const Quantity& other) const { return milli_ < other.milli_; }
  bool operator>(const Quantity& other) const { return milli_ > other.milli_; }
  bool operator==(const Quantity& other) const { return milli_ == other.milli_; }

 private:
  Quantity(std::int64_t milli, Format format) : milli_(milli), format_(format) {}
  std::int64_t milli_ = 0;
  Format format_ = Format::decimal;
};

// A quantity from a string or a number in an object; nothing for any other value or a malformed
// text.
std::optional<Quantity> quantity_of(const Json& value);

}  // namespace berth::embedded
