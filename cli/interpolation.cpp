#include "cli/interpolation.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "cli/failure.h"

namespace berth::cli {
namespace {

constexpr int most_levels = 16;

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The length of the name with which the text begins; 0 if it begins with none.
size_t name_length(std::string_view text) {
  if (text.empty() || !begins_name(text[0])) return 0;
  return size_t(std::ranges::find_if_not(text, continues_name) - text.begin());
}

// Returns the position of the brace that closes the one before `text[0]`; npos if there is none.
size_t end_of_braces(std::string_view text) {
  int open = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("${")) ++open;
    if (text[i] == '}' && --open == 0) return i;
  }
  return std::string_view::npos;
}

class Interpolation {
 public:
  Interpolation(Dollars dollars, const LookUp& look_up,
                const std::function<std::string(const std::string&)>& missing,
                const std::string& where)
      : dollars_(dollars), look_up_(look_up), missing_(missing), where_(where) {}

  std::string fill(std::string_view text, int levels) {
    if (levels > most_levels)
      throw Failure(Exit::usage, where_ + ": variables are nested too deeply");
    std::string result;
    while (!text.empty()) {
      const size_t dollar = std::min(text.find('$'), text.size());
      result += text.substr(0, dollar);
      text.remove_prefix(dollar);
      if (!text.empty()) result += take(text, levels);
    }
    return result;
  }

 private:
  // Takes the reference with which the text begins, a dollar sign and what belongs to it, off the
  // text. Returns what it stands for.
  std::string take(std::string_view& text, int levels) {
    const bool by_compose = dollars_ == Dollars::compose;
    const std::string_view escaped = by_compose ? "$$" : "$${";
    if (text.starts_with(escaped)) {
      text.remove_prefix(escaped.size());
      return std::string(escaped.substr(1));
    }
    if (text.starts_with("${")) {
      const size_t end = end_of_braces(text.substr(2));
      if (end != std::string_view::npos) {
        const std::string_view inner = text.substr(2, end);
        text.remove_prefix(end + 3);
        return in_braces(inner, levels);
      }
    }
    const size_t length = by_compose ? name_length(text.substr(1)) : 0;
    if (length > 0) {
      const std::string name(text.substr(1, length));
      text.remove_prefix(1 + length);
      return value_of(name);
    }
    if (by_compose)
      throw Failure(Exit::usage, where_ + ": a $ that doesn't begin a variable",
                    "Write $$ for a dollar sign, or put the value into single quotes.");
    text.remove_prefix(1);
    return "$";
  }

  std::string value_of(const std::string& name) {
    const auto value = look_up_(name);
    return value ? *value : missing_(name);
  }

  std::string in_braces(std::string_view inner, int levels) {
    const size_t length = name_length(inner);
    const std::string name(inner.substr(0, length));
    std::string_view rest = inner.substr(length);
    const bool empty_is_none = rest.starts_with(':');
    if (empty_is_none) rest.remove_prefix(1);
    const char does = rest.empty() ? '\0' : rest[0];
    if (length == 0 || (does == '\0' ? empty_is_none : does != '-' && does != '+' && does != '?'))
      throw Failure(Exit::usage,
                    where_ + ": ${" + std::string(inner) + "} doesn't begin with a variable");
    if (does == '\0') return value_of(name);
    const std::string_view operand = rest.substr(1);
    const auto value = look_up_(name);
    const bool is_there = value && !(empty_is_none && value->empty());
    if (does == '+') return is_there ? fill(operand, levels + 1) : "";
    if (is_there) return *value;
    if (does == '-') return fill(operand, levels + 1);
    throw Failure(Exit::usage, where_ + ": " + name + ": " + fill(operand, levels + 1));
  }

  Dollars dollars_;
  const LookUp& look_up_;
  const std::function<std::string(const std::string&)>& missing_;
  const std::string& where_;
};

}  // namespace

bool is_variable_name(std::string_view text) {
  return !text.empty() && name_length(text) == text.size();
}

std::optional<std::string> from_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string interpolated(std::string_view text, Dollars dollars, const LookUp& look_up,
                         const std::function<std::string(const std::string& name)>& missing,
                         const std::string& where) {
  return Interpolation(dollars, look_up, missing, where).fill(text, 0);
}

}  // namespace berth::cli
