#include "controller/base/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "controller/base/text.h"
#include "controller/base/visible_text.h"

namespace berth {
namespace {

using nlohmann::json;

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
  return parse_number<std::int64_t>(without_plus(text));
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
    if (const auto number = parse_number<double>(without_plus(text))) return *number;
  return text;
}

json convert(const YAML::Node& node, Reading& reading, int depth);

// What a merge key refers to, as one map: a map, or a sequence of maps of which the earlier ones
// take precedence (YAML 1.1, "Merge Key Language-Independent Type").
json merged_maps(const YAML::Node& value, Reading& reading, int depth) {
  json source = convert(value, reading, depth);
  if (source.is_object()) return source;
  const bool maps = source.is_array() &&
                    std::ranges::all_of(source, [](const json& map) { return map.is_object(); });
  if (!maps)
    throw YAML::Exception(value.Mark(), "<< must refer to a mapping or a list of mappings");
  json merged = json::object();
  for (const json& map : source)
    for (const auto& [name, inner] : map.items()) merged.emplace(name, inner);
  return merged;
}

json map_of(const YAML::Node& node, Reading& reading, int depth) {
  json object = json::object();
  std::optional<json> merged;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) throw YAML::Exception(entry.first.Mark(), "a key must be text");
    const std::string& key = entry.first.Scalar();
    const bool is_merge = key == "<<";
    if (is_merge ? merged.has_value() : object.contains(key))
      throw YAML::Exception(entry.first.Mark(), "the key " + key + " occurs twice");
    if (is_merge)
      merged = merged_maps(entry.second, reading, depth);
    else
      object[key] = convert(entry.second, reading, depth);
  }
  if (!merged) return object;
  merged->update(object);  // the map's own keys take precedence over merged ones
  return *merged;
}

json convert(const YAML::Node& node, Reading& reading, int depth) {
  if (depth > deepest || ++reading.nodes > most_nodes)
    throw YAML::Exception(node.Mark(),
                          "the document is nested too deeply, or its aliases make it too large");
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

// Reads over whatever a document holds.
class NoContent : public YAML::EventHandler {
 public:
  using Mark = YAML::Mark;
  void OnDocumentStart(const Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark&, YAML::anchor_t) override {}
  void OnAlias(const Mark&, YAML::anchor_t) override {}
  void OnScalar(const Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

}  // namespace

json parse_yaml(std::string_view text, const std::string& source, Scalars scalars) {
  if (!is_utf8(text)) throw std::runtime_error(source + ": isn't UTF-8");
  try {
    Reading reading = {.scalars = scalars};
    return convert(YAML::Load(std::string(text)), reading, 0);
  } catch (const YAML::Exception& failure) {
    throw std::runtime_error(source + ": " + failure.what());
  }
}

// Of some broken texts, such as ", [", yaml-cpp makes one empty document after another without end.
size_t yaml_documents(std::string_view text, const std::string& source) {
  constexpr size_t most_documents = 1'000;
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    NoContent nothing;
    size_t count = 0;
    while (parser.HandleNextDocument(nothing))
      if (++count > most_documents) throw std::runtime_error(source + ": too many documents");
    return count;
  } catch (const YAML::Exception& failure) {
    throw std::runtime_error(source + ": " + failure.what());
  }
}

}  // namespace berth
