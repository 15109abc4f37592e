#include "berthd/config_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "controller/base/yaml.h"

namespace berth {
namespace {

using nlohmann::json;

// The text is YAML: parse_yaml() has read it.
std::map<std::string, int> lines_of_keys(std::string_view text) {
  std::map<std::string, int> lines;
  const YAML::Node root = YAML::Load(std::string(text));
  for (const auto& entry : root) lines[entry.first.Scalar()] = entry.first.Mark().line + 1;
  return lines;
}

std::string value_text(const json& written, const json& typed) {
  if (written.is_null()) return "";
  if (written.is_string()) return written.get<std::string>();
  const bool plain_list =
      written.is_array() && !written.empty() &&
      std::ranges::all_of(written, [](const json& item) { return item.is_string(); });
  if (!plain_list) return typed.dump();
  std::string text;
  for (const json& item : written) text += (text.empty() ? "" : ",") + item.get<std::string>();
  return text;
}

}  // namespace

std::vector<FileEntry> config_file_entries(std::string_view text, const std::string& source) {
  const json written = parse_yaml(text, source, Scalars::texts);
  if (written.is_null()) return {};
  if (!written.is_object()) throw std::runtime_error(source + " must contain keys and values");
  const json typed = parse_yaml(text, source);
  const std::map<std::string, int> lines = lines_of_keys(text);
  std::vector<FileEntry> entries;
  for (const auto& [key, value] : written.items()) {
    // A key that comes by a merge (`<<`) stands on no line of its own.
    const auto line = lines.contains(key) ? lines.find(key) : lines.find("<<");
    entries.push_back({.key = key,
                       .value = value_text(value, typed.at(key)),
                       .line = line == lines.end() ? 1 : line->second});
  }
  std::ranges::stable_sort(entries, {}, &FileEntry::line);
  return entries;
}

}  // namespace berth
