#include "controller/transport/http.h"

#include <strings.h>

#include <algorithm>

#include "controller/base/url.h"
#include "controller/base/visible_text.h"

namespace berth::api {
bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      fields_, [&](const Field& field) { return same_name(field.name, name); });
  if (found == fields_.end()) return std::nullopt;
  return found->value;
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      fields_, [&](const Field& field) { return same_name(field.name, name); }));
}

bool Headers::mentions(std::string_view name, std::string_view text) const {
  return std::ranges::any_of(fields_, [&](const Field& field) {
    return same_name(field.name, name) && field.value.find(text) != std::string_view::npos;
  });
}

std::optional<Query> parse_form(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::string_view raw_name = pair.substr(0, pair.find('='));
    auto name = percent_decode(raw_name, Plus::is_blank);
    auto value =
        percent_decode(pair.substr(std::min(pair.size(), raw_name.size() + 1)), Plus::is_blank);
    if (!name || !value || query.size() == max_form_fields) return std::nullopt;
    query.emplace(std::move(*name), std::move(*value));
  }
  return query;
}

bool is_utf8(const Query& query) {
  return std::ranges::all_of(
      query, [](const auto& pair) { return berth::is_utf8(pair.first + pair.second); });
}

}  // namespace berth::api
