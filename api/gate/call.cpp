#include "api/gate/call.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "api/gate/canonical_id.h"
#include "api/gate/cursor.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"

namespace berth::api {
namespace {

// Returns the number that the text consists of, in decimal digits; nothing if it is another text,
// or a number of more than 18 digits.
std::optional<std::int64_t> digits_in(std::string_view text) {
  constexpr size_t most_digits = 18;
  const bool digits = text.size() <= most_digits && std::ranges::all_of(text, [](unsigned char c) {
                        return std::isdigit(c) != 0;
                      });
  return digits ? parse_number<std::int64_t>(text) : std::nullopt;
}

const Param* find_param(const Route* route, std::string_view name) {
  if (route == nullptr) return nullptr;
  for (const auto params : params_of(*route))
    if (const auto found = std::ranges::find(params, name, &Param::name); found != params.end())
      return &*found;
  return nullptr;
}

}  // namespace

std::vector<std::string_view> placeholders_in(std::string_view path) {
  std::vector<std::string_view> names;
  for (size_t open = path.find('{'); open != std::string_view::npos;
       open = path.find('{', open + 1))
    names.push_back(path.substr(open + 1, path.find('}', open) - open - 1));
  return names;
}

std::array<std::span<const Param>, 2> params_of(const Route& route) {
  constexpr int max_page = 1'000'000;
  static constexpr Param paging[] = {
      {.name = "page",
       .description = "The number of the page, counted from 1, which is the default.",
       .example = "1",
       .kind = Kind::integer,
       .least = 1,
       .most = max_page},
      {.name = "page_size",
       .description = "The greatest number of entries on a page. The default is 20.",
       .example = "20",
       .kind = Kind::integer,
       .least = 1,
       .most = PageRequest::max_size},
      {.name = "cursor",
       .description =
           "The next_cursor of the page before, which was requested with the same filters. It "
           "replaces page.",
       .example = "eyJ2IjoxfQ"}};
  return {route.paged ? std::span<const Param>(paging) : std::span<const Param>(), route.query};
}

const std::string& Call::id(std::string_view name) const {
  const auto value = path.find(name);
  if (value == path.end())
    throw std::logic_error("the route's path has no placeholder " + std::string(name));
  return value->second;
}

std::optional<std::string> Call::query(std::string_view name) const {
  const auto found = http.query.find(name);
  if (found == http.query.end()) return std::nullopt;
  std::string value = composed(found->second);
  const Param* param = find_param(route, name);
  if (param != nullptr && param->kind == Kind::uuid) write_id_in_lower_case(value);
  return value;
}

std::optional<std::string> Call::query(std::string_view name, Kind kind) const {
  const Param* param = find_param(route, name);
  if (param == nullptr || param->kind != kind)
    throw std::logic_error("the route's row says nothing of the parameter " + std::string(name) +
                           ", or another kind");
  return query(name);
}

std::optional<std::int64_t> Call::number(std::string_view name) const {
  const auto text = query(name, Kind::integer);
  if (!text) return std::nullopt;
  const Param& param = *find_param(route, name);
  const auto value = digits_in(*text);
  if (!value || *value < param.least || *value > param.most)
    throw invalid_field(std::string(name), "must be an integer from " +
                                               std::to_string(param.least) + " to " +
                                               std::to_string(param.most));
  return value;
}

bool Call::asks_for_deep_page() const {
  constexpr std::int64_t first_deep_page = 10;
  return route->paged && digits_in(query("page").value_or("")) >= first_deep_page;
}

PageRequest Call::page() const {
  PageRequest request = {.page = int(number("page").value_or(1)),
                         .page_size = int(number("page_size").value_or(PageRequest::default_size))};
  if (const auto cursor = query("cursor")) {
    if (query("page")) throw invalid_field("cursor", "takes the place of page; send one of them");
    return read_cursor(*this, *cursor, request.page_size);
  }
  if (request.offset() > PageRequest::max_skipped)
    throw invalid_field("page", "would skip more than " + std::to_string(PageRequest::max_skipped) +
                                    " entries; continue with `cursor`, the next_cursor of a page");
  return request;
}

}  // namespace berth::api
