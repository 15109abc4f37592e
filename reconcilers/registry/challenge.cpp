#include "reconcilers/registry/challenge.h"

#include <algorithm>

#include "controller/base/ascii.h"

namespace berth::registry {
namespace {

constexpr std::string_view blanks = " \t";
constexpr std::string_view blanks_and_commas = ", \t";
// What ends a token, or the text that some schemes have instead of parameters (token68).
constexpr std::string_view ends_of_word = ",= \t\"";

void skip(std::string_view& text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
}

std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find_first_of(ends_of_word));
  text.remove_prefix(word.size());
  return word;
}

// Takes a parameter's value off the beginning of the text: a quoted string or a token (RFC 9110,
// section 5.6). Returns nothing if a quote isn't closed.
std::optional<std::string> take_value(std::string_view& text) {
  std::string value;
  if (!text.starts_with('"')) {
    const size_t end = std::min(text.find_first_of(blanks_and_commas), text.size());
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

// Takes the equals sign of a parameter off the beginning of the text, with the blanks around it.
// Returns false, and takes nothing, if there is none, or if it is padding at the end of a token68.
bool take_equals(std::string_view& text) {
  std::string_view rest = text;
  skip(rest, blanks);
  if (!rest.starts_with('=')) return false;
  rest.remove_prefix(1);
  skip(rest, blanks);
  if (rest.empty() || rest.front() == '=' || rest.front() == ',') return false;
  text = rest;
  return true;
}

}  // namespace

std::optional<Challenge> parse_challenge(std::string_view field) {
  std::optional<Challenge> found;  // the challenge whose parameters are being read
  while (true) {
    const std::string_view before = field;
    skip(field, blanks_and_commas);
    const bool after_comma = before.substr(0, before.size() - field.size()).contains(',');
    if (field.empty()) return found;
    const std::string word = lower_case(take_word(field));
    if (word.empty()) return std::nullopt;
    if (take_equals(field)) {
      auto value = take_value(field);
      if (!value) return std::nullopt;
      if (found && word == "realm") found->realm = *std::move(value);
      if (found && word == "service") found->service = *std::move(value);
      continue;
    }
    // After a comma, this word is the scheme of the next challenge. Otherwise the field is
    // malformed.
    if (found) return after_comma ? found : std::nullopt;
    if (word == "bearer" || word == "basic") {
      found.emplace();
      if (word == "bearer") found->scheme = Challenge::Scheme::bearer;
    }
    skip(field, "=");  // the padding of a token68
  }
}

}  // namespace berth::registry
