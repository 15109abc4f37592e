#include "api/gate/list_field.h"

#include <algorithm>

#include "controller/base/text.h"

namespace berth::api {
namespace {

bool is_zero_weight(std::string_view parameter) {
  if (!parameter.starts_with("q=") && !parameter.starts_with("Q=")) return false;
  return parameter.find_first_not_of("0.", 2) == std::string_view::npos;
}

}  // namespace

std::string_view take_item(std::string_view& list, char separator) {
  const size_t end = std::min(list.find(separator), list.size());
  const std::string_view item = trimmed(list.substr(0, end));
  list.remove_prefix(std::min(end + 1, list.size()));
  return item;
}

std::vector<ContentCoding> content_codings(std::string_view accept_encoding) {
  std::vector<ContentCoding> codings;
  while (!accept_encoding.empty()) {
    std::string_view item = take_item(accept_encoding);
    const std::string_view name = take_item(item, ';');
    codings.push_back({.name = name, .wanted = !is_zero_weight(trimmed(item))});
  }
  return codings;
}

}  // namespace berth::api
