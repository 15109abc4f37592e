#include "reconcilers/registry/challenge.h"

#include <algorithm>

#include "controller/base/ascii.h"
#include "controller/base/text.h"

namespace berth::registry {
namespace {

// Takes a parameter's value off the beginning of the text: a quoted string or a token (RFC 9110,
// section 5.6). Returns nothing if a quote isn't closed.
std::optional<std::string> take_value(std::string_view& text) {
  std::string value;
  if (!text.starts_with('"')) {
    const size_t end = std::min(text.find_first_of(", \t"), text.size());
    value = text.substr(0, end);
    text.remove_prefix(end);
    return value;
  }
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    value += text[i];
  }
  return std::nullopt;
}

}  // namespace

std::optional<Challenge> parse_challenge(std::string_view field) {
  field = trimmed(field);
  const size_t blank = std::min(field.find(' '), field.size());
  const std::string scheme = lower_case(field.substr(0, blank));
  Challenge challenge;
  if (scheme == "bearer")
    challenge.scheme = Challenge::Scheme::bearer;
  else if (scheme != "basic")
    return std::nullopt;
  std::string_view rest = field.substr(blank);
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(", \t"), rest.size()));
    if (rest.empty()) return challenge;
    const size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string name = lower_case(trimmed(rest.substr(0, equals)));
    rest.remove_prefix(equals + 1);
    auto value = take_value(rest);
    if (!value) return std::nullopt;
    if (name == "realm")
      challenge.realm = *std::move(value);
    else if (name == "service")
      challenge.service = *std::move(value);
  }
}

}  // namespace berth::registry
