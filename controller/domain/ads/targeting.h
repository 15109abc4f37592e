#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/enum_text.h"

// Whom an ad is for. Three attributes of a viewer are known, because the app states them when it
// asks for an ad: game_type, play_tier and geography.
namespace berth::ads {

enum class Attribute { game_type, play_tier, geography };
constexpr auto texts_of(Attribute) {
  return EnumTexts<Attribute::geography>{"game_type", "play_tier", "geography"};
}
inline constexpr auto attributes = texts_of(Attribute());  // their names
inline constexpr size_t max_attribute_length = 64;
inline constexpr size_t max_metadata_bytes = 4'096;
inline constexpr size_t max_values = 8;  // how many values one attribute may have
// The limit for one campaign. It exists because a change of the campaign moves it in the set of
// each of its audiences.
inline constexpr size_t max_audiences = 64;

// How a viewer's attribute is compared with a value. If the app hasn't stated the attribute, only
// `any` matches.
enum class MatchMode { any, exact, prefix };
constexpr auto texts_of(MatchMode) {
  return EnumTexts<MatchMode::prefix>{"any", "exact", "prefix"};
}

// A condition on one attribute.
struct Test {
  MatchMode mode = MatchMode::any;
  std::string value = {};
  bool operator==(const Test&) const = default;
};
// One condition for each attribute; all must match.
using Audience = std::array<Test, attributes.size()>;
// The viewer's attributes, as far as the app has stated them.
using Viewing = std::array<std::optional<std::string>, attributes.size()>;

// For each attribute, a list of conditions of which one must match. An empty list matches every
// value.
using Targeting = std::array<std::vector<Test>, attributes.size()>;

// Reads targeting_metadata: a JSON object in which game_type, play_tier and geography are a string
// or an array of strings, one of which the viewer's value must equal. Other fields are passed to
// the app that shows the ad and have no effect here. Throws validation_failed.
Targeting parse_targeting(const std::string& metadata);

struct Segment {  // part of a placement's audience
  Attribute type = {};
  std::string value;
  MatchMode match_mode = MatchMode::any;
};
// Segments of the same type are alternatives; segments of different types must all match.
Targeting targeting_of(const std::vector<Segment>& segments);

// Returns how many audiences audiences() would return without its limit.
size_t count_audiences(const Targeting& one, const Targeting& other);
// Returns the viewers who match both, as audiences of which one must match; an empty list means
// that nobody can match. Returns at most max_audiences, so whoever stores a targeting must check
// its count_audiences() first.
std::vector<Audience> audiences(const Targeting& one, const Targeting& other);

// Whether a viewer's value passes the test.
bool fits(const Test& test, const std::optional<std::string>& value);

}  // namespace berth::ads
