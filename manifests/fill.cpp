#include "manifests/fill.h"

#include <set>
#include <stdexcept>

namespace berth::manifests {
namespace {

using nlohmann::json;

class Filler {
 public:
  Filler(const Values& values, const std::string& source) : values_(values), source_(source) {}

  json fill(const json& node) {
    if (node.is_string()) return text(node.get_ref<const std::string&>());
    if (node.is_array()) return list(node);
    if (node.is_object()) return object(node);
    return node;
  }

  void verify_all_used() const {
    for (const auto& [name, value] : values_)
      if (!used_.contains(name)) fail("has no placeholder $(" + name + ")");
  }

 private:
  json list(const json& node) {
    json filled = json::array();
    for (const json& item : node) {
      json value = fill(item);
      if (!is_left_out(item, value)) filled.push_back(std::move(value));
    }
    return filled;
  }

  json object(const json& node) {
    json filled = json::object();
    for (const auto& [key, item] : node.items()) {
      json value = fill(item);
      if (!is_left_out(item, value)) filled[key] = std::move(value);
    }
    return filled;
  }

  static bool is_left_out(const json& before, const json& after) {
    return after.is_null() && !before.is_null();
  }

  json text(const std::string& pattern) {
    std::string filled;
    size_t at = 0;
    while (true) {
      const size_t begin = pattern.find("$(", at);
      if (begin == std::string::npos) break;
      const size_t end = pattern.find(')', begin);
      if (end == std::string::npos) fail("has a placeholder without an end: " + pattern);
      const json& value = lookup(pattern.substr(begin + 2, end - begin - 2));
      if (begin == 0 && end + 1 == pattern.size()) return value;
      filled.append(pattern, at, begin - at).append(as_text(value, pattern));
      at = end + 1;
    }
    return filled.append(pattern, at);
  }

  const json& lookup(const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end()) fail("asks for $(" + name + "), which has no value");
    used_.insert(name);
    return found->second;
  }

  std::string as_text(const json& value, const std::string& pattern) const {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_integer()) return value.dump();
    fail("puts a value that is neither a text nor a whole number into " + pattern);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::logic_error(source_ + " " + what);
  }

  const Values& values_;
  const std::string& source_;
  std::set<std::string> used_;
};

}  // namespace

json fill_in(const json& tree, const Values& values, const std::string& source) {
  Filler filler(values, source);
  json filled = filler.fill(tree);
  filler.verify_all_used();
  return filled;
}

}  // namespace berth::manifests
