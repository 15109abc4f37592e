#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

// Enums whose values have texts, by which the database and the API know them. The table of the
// texts follows the definition of such an enum, in the same namespace:
//
//   enum class Status { open, closed };
//   constexpr auto texts_of(Status) { return EnumTexts<Status::closed>{"open", "closed"}; }
//
// Everything below then works for the enum, and so do conversions to and from JSON. Rows of the
// database are read by db/enum_column.h.
namespace berth {

// The texts of an enum's values, in the order of the values, which must count from 0 without gaps.
// `last` is the last value.
template <auto last>
using EnumTexts = std::array<std::string_view, std::size_t(last) + 1>;

template <typename E>
concept EnumWithTexts = std::is_enum_v<E> && requires(E value) {
  { texts_of(value).front() } -> std::convertible_to<std::string_view>;
};

// Returns the text of the value. Throws std::out_of_range for a number that is no value of the
// enum.
template <EnumWithTexts E>
constexpr std::string_view to_string(E value) {
  constexpr auto texts = texts_of(E());
  static_assert(!texts.back().empty(), "the table has fewer texts than the enum has values");
  return texts.at(std::size_t(value));
}
template <EnumWithTexts E>
constexpr std::optional<std::string_view> to_string(const std::optional<E>& value) {
  return value ? std::optional(to_string(*value)) : std::nullopt;
}

// Returns nothing if no value has this text.
template <EnumWithTexts E>
constexpr std::optional<E> parse_enum(std::string_view text) {
  constexpr auto texts = texts_of(E());
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (texts[i] == text) return static_cast<E>(i);
  return std::nullopt;
}

// Returns all texts as a sentence lists them: "open, closed or lost".
template <EnumWithTexts E>
std::string alternatives() {
  constexpr auto texts = texts_of(E());
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i)
    all.append(i == 0 ? "" : i + 1 < texts.size() ? ", " : " or ").append(texts[i]);
  return all;
}

}  // namespace berth

// In JSON, these enums are their texts. Reading any other text throws std::invalid_argument: bodies
// of requests are checked against their schema before they are decoded.
template <berth::EnumWithTexts E>
struct nlohmann::adl_serializer<E, void> {
  template <typename Json>
  static void to_json(Json& json, E value) {
    json = std::string(berth::to_string(value));
  }
  template <typename Json>
  static void from_json(const Json& json, E& value) {
    const auto text = json.template get<std::string>();
    const auto parsed = berth::parse_enum<E>(text);
    if (!parsed) throw std::invalid_argument("\"" + text + "\" is not " + berth::alternatives<E>());
    value = *parsed;
  }
};
