#include "controller/domain/ads/targeting.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"

namespace berth::ads {
namespace {

using nlohmann::json;

std::vector<Test> exact_values(const json& value, const std::string& field) {
  const auto refuse = [&] {
    return invalid_field(field, "must be a string of 1 to " + std::to_string(max_attribute_length) +
                                    " bytes, or up to " + std::to_string(max_values) + " of them");
  };
  const json list = value.is_array() ? value : json::array({value});
  if (list.empty() || list.size() > max_values) throw refuse();
  std::vector<Test> tests;
  for (const json& item : list) {
    if (!item.is_string()) throw refuse();
    const auto text = item.get<std::string>();
    if (text.empty() || text.size() > max_attribute_length) throw refuse();
    tests.push_back({.mode = MatchMode::exact, .value = text});
  }
  return tests;
}

// Returns the condition that matches what both match; nothing if they exclude each other.
std::optional<Test> both(const Test& one, const Test& other) {
  if (one.mode == MatchMode::any) return other;
  if (other.mode == MatchMode::any) return one;
  if (one.mode == MatchMode::exact)
    return fits(other, one.value) ? std::optional(one) : std::nullopt;
  if (other.mode == MatchMode::exact) return both(other, one);
  const Test& longer = one.value.size() >= other.value.size() ? one : other;
  const Test& shorter = &longer == &one ? other : one;
  return longer.value.starts_with(shorter.value) ? std::optional(longer) : std::nullopt;
}

std::vector<Test> both(const std::vector<Test>& one, const std::vector<Test>& other) {
  const std::vector<Test> anything = {{}};
  std::vector<Test> result;
  for (const Test& a : one.empty() ? anything : one)
    for (const Test& b : other.empty() ? anything : other)
      if (const auto test = both(a, b); test && std::ranges::find(result, *test) == result.end())
        result.push_back(*test);
  return result;
}

}  // namespace

Targeting parse_targeting(const std::string& metadata) {
  if (metadata.size() > max_metadata_bytes)
    throw invalid_field("targeting_metadata",
                        "must have at most " + std::to_string(max_metadata_bytes) + " bytes");
  const json object = json::parse(metadata);
  Targeting targeting;
  for (size_t i = 0; i < attributes.size(); ++i) {
    const auto value = object.find(std::string(attributes[i]));
    if (value == object.end() || value->is_null()) continue;
    targeting[i] = exact_values(*value, "targeting_metadata." + std::string(attributes[i]));
  }
  if (count_audiences(targeting, {}) > max_audiences)
    throw invalid_field("targeting_metadata", "has too many combinations of values");
  return targeting;
}

Targeting targeting_of(const std::vector<Segment>& segments) {
  Targeting targeting;
  for (const Segment& segment : segments)
    targeting[size_t(segment.type)].push_back(
        {.mode = segment.match_mode,
         .value = segment.match_mode == MatchMode::any ? "" : segment.value});
  return targeting;
}

size_t count_audiences(const Targeting& one, const Targeting& other) {
  size_t count = 1;
  for (size_t i = 0; i < attributes.size(); ++i) count *= both(one[i], other[i]).size();
  return count;
}

std::vector<Audience> audiences(const Targeting& one, const Targeting& other) {
  std::vector<Audience> result = {{}};
  for (size_t i = 0; i < attributes.size(); ++i) {
    std::vector<Audience> longer;
    for (const Test& test : both(one[i], other[i]))
      for (Audience audience : result) {
        audience[i] = test;
        if (longer.size() < max_audiences) longer.push_back(std::move(audience));
      }
    result = std::move(longer);
  }
  return result;
}

bool fits(const Test& test, const std::optional<std::string>& value) {
  switch (test.mode) {
    case MatchMode::any:
      return true;
    case MatchMode::exact:
      return value == test.value;
    case MatchMode::prefix:
      return value && value->starts_with(test.value);
  }
  return false;
}

}  // namespace berth::ads
