#include "cli/suggest.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "controller/base/spelling.h"

namespace berth::cli {
namespace {

constexpr size_t shortest_part = 3;  // how much of a name is enough to suggest it

// What gh, flyctl, kubectl, docker and heroku call these things.
constexpr std::array other_words = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"add", "create"},       {"apply", "up"},       {"cancel", "delete"}, {"del", "delete"},
    {"describe", "get"},     {"destroy", "delete"}, {"diff", "up"},       {"dir", "list"},
    {"edit", "update"},      {"info", "status"},    {"info", "show"},     {"inspect", "get"},
    {"kill", "stop"},        {"launch", "init"},    {"log", "logs"},      {"new", "create"},
    {"releases", "history"}, {"rename", "update"},  {"reset", "restart"}, {"run", "deploy"},
    {"secrets", "env"},      {"set", "update"},     {"signin", "login"},  {"signup", "register"},
    {"start", "restart"},    {"tail", "logs"},      {"undo", "rollback"}, {"vars", "env"},
    {"view", "show"},        {"view", "get"},       {"who", "whoami"},    {"stats", "metrics"},
});

std::string asked(std::string_view name) { return ": did you mean " + std::string(name) + "?"; }

}  // namespace

std::string did_you_mean(const std::string& text, const std::vector<std::string>& names) {
  const auto name = nearest_spelling(text, names);
  return name ? asked(*name) : "";
}

std::string did_you_mean_command(const std::string& word, const std::vector<std::string>& names) {
  if (const std::string near = did_you_mean(word, names); !near.empty()) return near;
  for (const auto& [other, name] : other_words)
    if (other == word && std::ranges::find(names, name) != names.end()) return asked(name);
  std::vector<std::string> parts;
  for (const std::string& name : names)
    if (word.size() >= shortest_part && name.starts_with(word)) parts.push_back(name);
  return parts.size() == 1 ? asked(parts[0]) : "";
}

}  // namespace berth::cli
