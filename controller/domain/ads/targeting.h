#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Whom an ad is for. Three attributes of a viewer are known, because the app states them when it
// asks for an ad: game_type, play_tier and geography.
namespace berth::ads {

inline constexpr std::array<std::string_view, 3> attributes = {"game_type", "play_tier",
                                                               "geography"};
inline constexpr size_t max_attribute_length = 64;
inline constexpr size_t max_metadata_bytes = 4'096;
inline constexpr size_t max_values = 8;  // for one attribute
// For one campaign. The limit exists because a change of the campaign moves it in the set of each
// of its audiences.
inline constexpr size_t max_audiences = 64;

// A condition on one attribute. If the app hasn't stated the attribute, only `any` matches.
struct Test {
  enum class Kind { any, exact, prefix } kind = Kind::any;
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

struct Segment {     // part of a placement's audience
  std::string type;  // the name of an attribute
  std::string value;
  std::string match_mode;  // exact, prefix or any
};
// Segments of the same type are alternatives; segments of different types must all match.
Targeting targeting_of(const std::vector<Segment>& segments);

// Returns how many audiences audiences() would return without its limit.
size_t count_audiences(const Targeting& one, const Targeting& other);
// Returns the viewers who match both, as audiences of which one must match; an empty list means
// that nobody can match. Returns at most max_audiences, so whoever stores a targeting must check
// its count_audiences() first.
std::vector<Audience> audiences(const Targeting& one, const Targeting& other);

bool fits(const Test& test, const std::optional<std::string>& value);

}  // namespace berth::ads
