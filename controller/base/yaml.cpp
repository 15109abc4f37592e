#include "controller/base/yaml.h"

#include <yaml-cpp/yaml.h>

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

// Without a sign in front.
std::optional<std::int64_t> digits(std::string_view text, int base) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.starts_with('-') || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

// from_chars knows no plus; one alone in front is allowed by YAML.
std::string_view without_plus(std::string_view text) {
  return text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text;
}

// The integers of the core schema: [-+]?[0-9]+, 0o[0-7]+ and 0x[0-9a-fA-F]+.
std::optional<std::int64_t> integer(const std::string& text) {
  if (text.starts_with("0o")) return digits(std::string_view(text).substr(2), 8);
  if (text.starts_with("0x")) return digits(std::string_view(text).substr(2), 16);
  return whole<std::int64_t>(without_plus(text));
}

json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return text;  // quoted
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
    return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (const auto number = integer(text)) return *number;
  const bool numeric = text.find_first_not_of("0123456789+-.eE") == std::string::npos &&
                       text.find_first_of("0123456789") != std::string::npos;
  if (numeric)
    if (const auto number = whole<double>(without_plus(text))) return *number;
  return text;
}

json convert(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return scalar(node);
    case YAML::NodeType::Sequence: {
      json list = json::array();
      for (const auto& item : node) list.push_back(convert(item));
      return list;
    }
    case YAML::NodeType::Map: {
      json object = json::object();
      json merged = json::object();
      for (const auto& entry : node) {
        if (entry.first.Scalar() == "<<")
          merged = convert(entry.second);
        else
          object[entry.first.Scalar()] = convert(entry.second);
      }
      merged.update(object);  // what stands here wins over what is merged in
      return merged;
    }
    default:
      return nullptr;
  }
}

}  // namespace

json parse_yaml(std::string_view text, const std::string& source) {
  try {
    return convert(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& failure) {
    throw std::runtime_error(source + ": " + failure.what());
  }
}

}  // namespace berth
