#include "api/gate/cursor.h"

#include <algorithm>

#include "api/gate/next_link.h"
#include "controller/base/crypto.h"

namespace berth::api {
namespace {

constexpr int cursor_version = 1;
constexpr size_t max_cursor_length = 1'024;
constexpr int max_page = 1'000'000'000;
constexpr size_t bytes_of_hash = 9;

// What a cursor is bound to: the operation, the ids in its path and its filters.
std::string list_of(const Call& call) {
  std::string text = std::string(call.route->name) + '\n' + canonical_path(call);
  for (const Param& param : call.route->query)
    if (const auto value = call.query(param.name))
      text += '\n' + std::string(param.name) + '=' + *value;
  return base64url(sha256(text).substr(0, bytes_of_hash));
}

std::optional<Position> decode_position(const json& values) {
  if (!values.is_array()) return std::nullopt;
  Position position;
  for (const json& value : values) {
    if (value.is_number_integer())
      position.emplace_back(value.get<std::int64_t>());
    else if (value.is_string() &&
             value.get_ref<const std::string&>().find('\0') == std::string::npos)
      position.emplace_back(value.get<std::string>());
    else
      return std::nullopt;
  }
  return position;
}

}  // namespace

std::string write_cursor(const Call& call, int page, const json& position) {
  return base64url(json::array({cursor_version, list_of(call), page, position}).dump());
}

PageRequest read_cursor(const Call& call, const std::string& cursor, int page_size) {
  const Error foreign = invalid_field(
      "cursor", "isn't a cursor of this list with these filters; take next_cursor as it came");
  if (cursor.size() > max_cursor_length) throw foreign;
  const auto text = parse_base64url(cursor);
  // The parser would stop at a NUL and ignore what follows it.
  if (text && text->find('\0') != std::string::npos) throw foreign;
  const json parts = text ? json::parse(*text, nullptr, false) : json();
  if (!parts.is_array() || parts.size() != 4 || parts[0] != cursor_version ||
      parts[1] != list_of(call) || !parts[2].is_number_integer())
    throw foreign;
  const auto page = parts[2].get<std::int64_t>();
  auto position = decode_position(parts[3]);
  if (page < 1 || page > max_page || !position) throw foreign;
  return {.page = int(page), .page_size = page_size, .after = std::move(position)};
}

json encode_position(const std::optional<Position>& position) {
  if (!position) return nullptr;
  json values = json::array();
  for (const auto& value : *position)
    std::visit([&](const auto& each) { values.push_back(each); }, value);
  return values;
}

}  // namespace berth::api
