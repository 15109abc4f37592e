#include "controller/base/yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace berth {
namespace {

using nlohmann::json;

template <typename Number>
std::optional<Number> whole(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Parses digits; a sign isn't allowed.
std::optional<std::int64_t> digits(std::string_view text, int base) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.starts_with('-') || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

// from_chars doesn't accept a plus sign; YAML allows a single one.
std::string_view without_plus(std::string_view text) {
  return text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text;
}

// The integers of the core schema: [-+]?[0-9]+, 0o[0-7]+ and 0x[0-9a-fA-F]+.
std::optional<std::int64_t> integer(const std::string& text) {
  if (text.starts_with("0o")) return digits(std::string_view(text).substr(2), 8);
  if (text.starts_with("0x")) return digits(std::string_view(text).substr(2), 16);
  return whole<std::int64_t>(without_plus(text));
}

// An alias inside the node that it refers to never ends, and aliases of aliases grow exponentially.
constexpr int deepest = 64;
constexpr size_t most_nodes = 1'000'000;

struct Reading {
  Scalars scalars;
  size_t nodes = 0;
};

json scalar(const YAML::Node& node, Scalars scalars) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return text;  // quoted
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
    return nullptr;
  if (scalars == Scalars::texts) return text;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (const auto number = integer(text)) return *number;
  const bool numeric = text.find_first_not_of("0123456789+-.eE") == std::string::npos &&
                       text.find_first_of("0123456789") != std::string::npos;
  if (numeric)
    if (const auto number = whole<double>(without_plus(text))) return *number;
  return text;
}

json convert(const YAML::Node& node, Reading& reading, int depth);

// Adds what a merge key refers to: a map, or a sequence of maps of which the earlier ones take
// precedence (YAML 1.1, "Merge Key Language-Independent Type").
void merge(json& merged, const YAML::Node& value, Reading& reading, int depth) {
  json source = convert(value, reading, depth);
  if (source.is_object()) source = json::array({std::move(source)});
  const bool maps = source.is_array() &&
                    std::ranges::all_of(source, [](const json& map) { return map.is_object(); });
  if (!maps) throw YAML::Exception(value.Mark(), "a merge key takes a map or a list of maps");
  for (const json& map : source)
    for (const auto& [name, inner] : map.items()) merged.emplace(name, inner);
}

json map_of(const YAML::Node& node, Reading& reading, int depth) {
  json object = json::object();
  json merged = json::object();
  for (const auto& entry : node) {
    const std::string& key = entry.first.Scalar();
    if (key == "<<")
      merge(merged, entry.second, reading, depth);
    else if (object.contains(key))
      throw YAML::Exception(entry.first.Mark(), "the key " + key + " is there twice");
    else
      object[key] = convert(entry.second, reading, depth);
  }
  merged.update(object);  // the map's own keys take precedence over merged ones
  return merged;
}

json convert(const YAML::Node& node, Reading& reading, int depth) {
  if (depth > deepest || ++reading.nodes > most_nodes)
    throw YAML::Exception(node.Mark(), "this is too deep or, by its aliases, too much");
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return scalar(node, reading.scalars);
    case YAML::NodeType::Sequence: {
      json list = json::array();
      for (const auto& item : node) list.push_back(convert(item, reading, depth + 1));
      return list;
    }
    case YAML::NodeType::Map:
      return map_of(node, reading, depth + 1);
    default:
      return nullptr;
  }
}

}  // namespace

json parse_yaml(std::string_view text, const std::string& source, Scalars scalars) {
  try {
    Reading reading = {.scalars = scalars};
    return convert(YAML::Load(std::string(text)), reading, 0);
  } catch (const YAML::Exception& failure) {
    throw std::runtime_error(source + ": " + failure.what());
  }
}

size_t yaml_documents(std::string_view text, const std::string& source) {
  try {
    return YAML::LoadAll(std::string(text)).size();
  } catch (const YAML::Exception& failure) {
    throw std::runtime_error(source + ": " + failure.what());
  }
}

}  // namespace berth
