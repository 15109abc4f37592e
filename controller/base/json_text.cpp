#include "controller/base/json_text.h"

namespace berth {
namespace {

// Returns where the value of the next member of this name begins, if that value begins with
// `value`. Between strings, a name has a brace or a comma before it; within a string, a quotation
// mark has a backslash.
size_t find_value(std::string_view json, std::string_view name, std::string_view value) {
  const std::string head = "\"" + std::string(name) + "\":";
  const std::string whole = head + std::string(value);
  size_t at = json.find(whole);
  while (at != std::string_view::npos && (at == 0 || (json[at - 1] != '{' && json[at - 1] != ',')))
    at = json.find(whole, at + 1);
  return at == std::string_view::npos ? at : at + head.size();
}

// Returns the length of the object at the beginning of the text; 0 if it doesn't end.
size_t length_of_object(std::string_view json) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

}  // namespace

std::string objects_as_texts(std::string_view json, std::string_view name) {
  std::string changed;
  while (true) {
    const size_t begin = find_value(json, name, "{");
    if (begin == std::string_view::npos) break;
    const std::string_view object = json.substr(begin, length_of_object(json.substr(begin)));
    if (object.empty()) break;
    if (changed.empty()) changed.reserve(json.size() * 5 / 4);
    changed += json.substr(0, begin);
    changed += '"';
    for (const char c : object) {
      if (c == '"' || c == '\\') changed += '\\';
      changed += c;
    }
    changed += '"';
    json.remove_prefix(begin + object.size());
  }
  changed += json;
  return changed;
}

std::string texts_as_objects(std::string_view json, std::string_view name) {
  std::string changed;
  while (true) {
    const size_t begin = find_value(json, name, "\"{");
    if (begin == std::string_view::npos) break;
    changed += json.substr(0, begin);
    size_t i = begin + 1;
    for (; i < json.size() && json[i] != '"'; ++i) {
      if (json[i] == '\\' && i + 1 < json.size()) ++i;
      changed += json[i];
    }
    json.remove_prefix(i < json.size() ? i + 1 : i);
  }
  changed += json;
  return changed;
}

}  // namespace berth
