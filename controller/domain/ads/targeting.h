#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Whom an ad is for. Three attributes of the one who looks are known, because the app says them
// when it asks for an ad: game_type, play_tier, geography.
namespace berth::ads {

inline constexpr std::array<std::string_view, 3> attributes = {"game_type", "play_tier",
                                                               "geography"};
inline constexpr size_t max_attribute_length = 64;
inline constexpr size_t max_metadata_bytes = 4'096;
inline constexpr size_t max_values = 8;  // of one attribute
// Of one campaign: its place in the choice is kept up to date in each of them.
inline constexpr size_t max_audiences = 64;

// What one attribute has to be. An attribute that the app didn't say fits `any` alone.
struct Test {
  enum class Kind { any, exact, prefix } kind = Kind::any;
  std::string value = {};
  bool operator==(const Test&) const = default;
};
// A test for each attribute, all of which have to fit.
using Audience = std::array<Test, attributes.size()>;
// The attributes of who looks.
using Viewing = std::array<std::optional<std::string>, attributes.size()>;

// For each attribute the tests of which one has to fit; none: any value will do.
using Targeting = std::array<std::vector<Test>, attributes.size()>;

// targeting_metadata: a JSON object in which game_type, play_tier and geography are a string or an
// array of strings, one of which has to be met exactly. Other fields are for the app that shows the
// ad and decide nothing. Throws validation_failed.
Targeting parse_targeting(const std::string& metadata);

struct Segment {     // of a placement
  std::string type;  // an attribute
  std::string value;
  std::string match_mode;  // exact, prefix, any
};
// Segments of one type are alternatives; segments of several types have to fit all.
Targeting targeting_of(const std::vector<Segment>& segments);

// How many audiences these make together.
size_t count_audiences(const Targeting& one, const Targeting& other);
// Everything that fits both, as audiences of which one has to fit; none where nothing can. More
// than max_audiences are left out: whoever stores a targeting counts them before.
std::vector<Audience> audiences(const Targeting& one, const Targeting& other);

bool fits(const Test& test, const std::optional<std::string>& value);

}  // namespace berth::ads
