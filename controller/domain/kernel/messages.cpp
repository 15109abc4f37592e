#include "controller/domain/kernel/messages.h"

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "controller/base/embedded.h"

namespace berth::messages {

namespace catalogue {
const std::vector<EmbeddedFile>& files();
}

namespace {

using Texts = std::map<std::string, std::string, std::less<>>;

// A reason with one value in it, which may be anything.
struct Pattern {
  std::string before, after;  // the English words around the value
  std::string name;           // of the value
  std::string text;
};

struct Catalogue {
  Texts texts, reasons, fields;
  std::vector<Pattern> patterns;
};

Texts pairs_of(const nlohmann::json& list, const std::string& language) {
  Texts texts;
  for (const nlohmann::json& entry : list) texts.emplace(entry.at("en"), entry.at(language));
  return texts;
}

Catalogue read(const std::string& language) {
  for (const EmbeddedFile& file : catalogue::files()) {
    if (file.name != language + ".json") continue;
    const auto json = nlohmann::json::parse(file.text);
    Catalogue all = {.texts = pairs_of(json.at("texts"), language),
                     .reasons = pairs_of(json.at("reasons"), language),
                     .fields = json.at("fields").get<Texts>(),
                     .patterns = {}};
    for (const auto& [english, text] : all.reasons) {
      const size_t open = english.find('{'), close = english.find('}');
      if (open == std::string::npos || close == std::string::npos) continue;
      all.patterns.push_back({.before = english.substr(0, open),
                              .after = english.substr(close + 1),
                              .name = english.substr(open + 1, close - open - 1),
                              .text = text});
    }
    return all;
  }
  throw std::logic_error("there is no catalogue of the language " + language);
}

// Returns nothing for English.
const Catalogue* of(Language language) {
  if (language == Language::en) return nullptr;
  static const auto all = [] {
    std::map<Language, Catalogue> read_ones;
    for (const Language one : all_languages)
      if (one != Language::en) read_ones.emplace(one, read(std::string(to_string(one))));
    return read_ones;
  }();
  return &all.at(language);
}

// Goes through the text once, so that nothing that a value contains is replaced.
std::string filled(std::string_view text, std::initializer_list<Insert> values) {
  std::string result;
  while (!text.empty()) {
    const size_t open = text.find('{');
    result += text.substr(0, open);
    if (open == std::string_view::npos) break;
    text.remove_prefix(open);
    bool replaced = false;
    for (const auto& [name, value] : values) {
      if (text.size() < name.size() + 2 || text[name.size() + 1] != '}' ||
          text.substr(1, name.size()) != name)
        continue;
      result += value;
      text.remove_prefix(name.size() + 2);
      replaced = true;
      break;
    }
    if (replaced) continue;
    result += '{';
    text.remove_prefix(1);
  }
  return result;
}

// A value is a reason itself, or stays as it is. `depth` says how many values may be within one
// another.
std::optional<std::string> reason_in(const Catalogue& catalogue, std::string_view english,
                                     int depth) {
  const auto found = catalogue.reasons.find(english);
  if (found != catalogue.reasons.end()) return found->second;
  if (depth == 0) return std::nullopt;
  for (const Pattern& pattern : catalogue.patterns) {
    if (english.size() < pattern.before.size() + pattern.after.size() ||
        !english.starts_with(pattern.before) || !english.ends_with(pattern.after))
      continue;
    const std::string_view value = english.substr(
        pattern.before.size(), english.size() - pattern.before.size() - pattern.after.size());
    return filled(
        pattern.text,
        {{pattern.name, reason_in(catalogue, value, depth - 1).value_or(std::string(value))}});
  }
  return std::nullopt;
}

}  // namespace

std::string_view own_name(Language language) {
  switch (language) {
    case Language::en:
      return "English";
    case Language::de:
      return "Deutsch";
  }
  return "";
}

std::string say(Language language, std::string_view english, std::initializer_list<Insert> values) {
  const Catalogue* catalogue = of(language);
  if (catalogue == nullptr) return filled(english, values);
  const auto found = catalogue->texts.find(english);
  return filled(found == catalogue->texts.end() ? english : std::string_view(found->second),
                values);
}

std::optional<std::string> reason(Language language, std::string_view english) {
  constexpr int most_values = 2;  // within one another
  const Catalogue* catalogue = of(language);
  return catalogue == nullptr ? std::optional(std::string(english))
                              : reason_in(*catalogue, english, most_values);
}

std::optional<std::string> field(Language language, std::string_view name) {
  const Catalogue* catalogue = of(language);
  if (catalogue == nullptr) return std::nullopt;
  const auto found = catalogue->fields.find(name);
  return found == catalogue->fields.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace berth::messages
