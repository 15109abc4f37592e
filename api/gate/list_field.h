#pragma once

#include <string_view>
#include <vector>

// Fields of a request that are lists (RFC 9110, section 5.6.1).
namespace berth::api {

// Removes the first item and its separator from `list`, and returns the item without the blanks
// around it. The item refers to the same text as `list`.
std::string_view take_item(std::string_view& list, char separator = ',');

struct ContentCoding {
  std::string_view name;
  bool wanted = true;  // false if its weight is 0; other weights aren't compared
};
// Returns the entries of an Accept-Encoding field in their order (RFC 9110, section 12.5.3). They
// refer to the field.
std::vector<ContentCoding> content_codings(std::string_view accept_encoding);

}  // namespace berth::api
