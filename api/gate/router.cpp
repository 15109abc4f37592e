#include "api/gate/router.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "controller/base/url.h"
#include "controller/base/visible_text.h"

namespace berth::api {
namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // the leading slash
    const size_t end = std::min(path.find('/'), path.size());
    segments.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

bool is_placeholder(std::string_view segment) { return segment.starts_with('{'); }

// PostgreSQL refuses other texts, and SQLite just doesn't find them.
bool is_storable(std::string_view value) {
  return berth::is_utf8(value) && value.find('\0') == std::string_view::npos;
}

std::string_view served_as(std::string_view method) { return method == "HEAD" ? "GET" : method; }

}  // namespace

Router::Router(const std::vector<Route>& table, Environment environment) {
  for (const Route& route : table) {
    if (route.availability == Availability::development_only &&
        environment != Environment::development)
      continue;
    rows_.push_back(&route);
    if (route.path().find('{') == std::string_view::npos)
      fixed_.emplace(std::string(route.method()) + " " + std::string(route.path()), &route);
    const auto parts = split(route.path());
    auto& same_length = patterns_[parts.size()];
    const std::vector<std::string> segments(parts.begin(), parts.end());
    auto pattern = std::ranges::find(same_length, segments, &Pattern::segments);
    if (pattern == same_length.end())
      pattern = same_length.insert(same_length.end(), Pattern{segments, {}});
    if (!pattern->methods.emplace(route.method(), &route).second)
      throw std::logic_error("two routes for " + std::string(route.method()) + " " +
                             std::string(route.path()));
  }
  // Fixed segments take precedence over placeholders, whatever the order of the table is.
  for (auto& [length, same_length] : patterns_)
    std::ranges::stable_sort(same_length, {}, [](const Pattern& pattern) {
      return std::ranges::count_if(pattern.segments, is_placeholder);
    });
}

bool Router::matches(const Pattern& pattern, const std::vector<std::string_view>& segments) {
  return std::ranges::equal(pattern.segments, segments,
                            [](std::string_view expected, std::string_view given) {
                              return is_placeholder(expected) ? !given.empty() : expected == given;
                            });
}

Router::Match Router::find(std::string_view method, std::string_view path) const {
  const std::string_view wanted = served_as(method);
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto exact = fixed_.find(std::string(wanted) + " " + std::string(path));
  if (exact != fixed_.end()) return {.route = exact->second, .parameters = {}, .allow = {}};
  if (!path.starts_with('/')) return {};
  const auto segments = split(path);
  const auto same_length = patterns_.find(segments.size());
  if (same_length == patterns_.end()) return {};
  Match match;
  // The methods of all patterns that match, in alphabetical order.
  std::set<std::string_view> allowed;
  for (const Pattern& pattern : same_length->second) {
    if (!matches(pattern, segments)) continue;
    const auto row = pattern.methods.find(wanted);
    if (row == pattern.methods.end()) {
      for (const auto& [name, unused] : pattern.methods) {
        allowed.insert(name);
        if (name == "GET") allowed.insert("HEAD");
      }
      continue;
    }
    for (size_t i = 0; i < segments.size(); ++i) {
      if (!is_placeholder(pattern.segments[i])) continue;
      auto value = percent_decode(segments[i], Plus::is_plus);
      if (!value) return {};
      if (!is_storable(*value)) value = percent_encode(*value);
      match.parameters.emplace(pattern.segments[i].substr(1, pattern.segments[i].size() - 2),
                               std::move(*value));
    }
    match.route = row->second;
    return match;
  }
  for (const std::string_view name : allowed)
    match.allow.append(match.allow.empty() ? "" : ", ").append(name);
  return match;
}

}  // namespace berth::api
