#include "cli/env_file.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <sstream>

#include "cli/failure.h"
#include "cli/files.h"
#include "cli/interpolation.h"
#include "controller/base/visible_text.h"

namespace berth::cli {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::string_view blanks = " \t\v\f\r";
constexpr const char* dialect = "--env-file reads what docker compose reads: one KEY=VALUE a line.";

std::string_view without_blanks(std::string_view text) {
  const size_t start = text.find_first_not_of(blanks);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(blanks) - start + 1);
}

// What a backslash and this character stand for in double quotes; nothing if both are themselves.
std::optional<char> escape(char c) {
  constexpr std::string_view written = "abfnrtv\\\"";
  constexpr std::string_view meant = "\a\b\f\n\r\t\v\\\"";
  const size_t at = written.find(c);
  return at == std::string_view::npos ? std::nullopt : std::optional(meant[at]);
}

class EnvFile {
 public:
  EnvFile(std::string_view text, const std::string& source,
          const std::function<void(const std::string&)>& warn)
      : rest_(text), source_(source), warn_(warn) {
    if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
  }

  json parse() {
    while (!rest_.empty()) statement();
    return variables_;
  }

 private:
  std::string where() const { return source_ + ", line " + std::to_string(line_); }
  [[noreturn]] void fail(const std::string& why) const {
    throw Failure(Exit::usage, where() + why, dialect);
  }

  // The rest of the line, which is taken with its end.
  std::string_view take_line() {
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++line_;
    return line;
  }

  void statement() {
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    if (without_blanks(line).empty() || without_blanks(line).starts_with('#')) {
      take_line();
      return;
    }
    std::string_view head = line;
    const size_t separator = head.find_first_of("=:");
    head = without_blanks(head.substr(0, separator));
    constexpr std::string_view keyword = "export";
    if (head.starts_with(keyword) && head.size() > keyword.size() &&
        blanks.find(head[keyword.size()]) != std::string_view::npos)
      head = without_blanks(head.substr(keyword.size()));
    const std::string name(head);
    // Such as KEY # comment.
    if (!is_variable_name(name)) fail(" doesn't begin with the name of a variable");
    if (separator == std::string_view::npos) {
      if (const auto value = from_environment(name)) variables_[name] = *value;
      if (!from_environment(name))
        fail(": the variable " + name + " isn't set in your environment");
      take_line();
      return;
    }
    rest_.remove_prefix(separator + 1);
    rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks), rest_.size()));
    variables_[name] = value(name);
  }

  std::string value(const std::string& name) {
    const char quote = rest_.empty() ? '\0' : rest_[0];
    if (quote == '"' || quote == '\'') return quoted(quote, name);
    const std::string here = where();
    std::string_view line = take_line();
    if (line.starts_with('#')) line = {};
    const size_t comment = std::min(line.find(" #"), line.find("\t#"));
    return filled(std::string(without_blanks(line.substr(0, comment))), here);
  }

  std::string quoted(char quote, const std::string& name) {
    const std::string here = where();
    std::string text;
    for (size_t i = 1; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (c == '\r' && i + 1 < rest_.size() && rest_[i + 1] == '\n') continue;
      if (c == '\n') ++line_;
      if (c == quote) {
        rest_.remove_prefix(i + 1);
        const std::string_view behind = without_blanks(rest_.substr(0, rest_.find('\n')));
        if (!behind.empty() && !behind.starts_with('#'))
          fail(": only a comment may follow the quotes of " + name);
        take_line();
        return quote == '"' ? filled(text, here) : text;
      }
      if (c != '\\' || i + 1 == rest_.size()) {
        text += c;
        continue;
      }
      const char next = rest_[++i];
      if (next == '\n') ++line_;
      if (quote == '\'')
        text += next == quote ? std::string(1, quote) : std::string("\\") + next;
      else if (next == '$')
        text += "$$";  // the escaped form of the variables, which are filled in later
      else if (const auto meant = escape(next))
        text += *meant;
      else
        text += std::string("\\") + next;
    }
    throw Failure(Exit::usage, here + ": the quotes of " + name + " aren't closed", dialect);
  }

  std::string filled(const std::string& text, const std::string& here) {
    const auto look_up = [this](const std::string& name) {
      auto value = from_environment(name);
      if (const auto before = variables_.find(name); !value && before != variables_.end())
        value = before->get<std::string>();
      return value;
    };
    const auto missing = [&](const std::string& name) {
      if (warn_) warn_(here + ": the variable " + name + " isn't set and counts as empty");
      return std::string();
    };
    return interpolated(text, Dollars::compose, look_up, missing, here);
  }

  std::string_view rest_;
  const std::string& source_;
  const std::function<void(const std::string&)>& warn_;
  int line_ = 1;
  json variables_ = json::object();
};

}  // namespace

std::string contents_of(const std::string& file) {
  if (file == "-") {
    std::ostringstream content;
    content << std::cin.rdbuf();
    return content.str();
  }
  auto content = read_file(file);
  if (!content) throw Failure(Exit::usage, "there is no file " + file);
  return *std::move(content);
}

std::pair<std::string, std::string> parse_env(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (!is_variable_name(name))
    throw Failure(Exit::usage, "\"" + name + "\" isn't the name of a variable");
  if (equals == std::string::npos) {
    const auto value = from_environment(name);
    if (!value)
      throw Failure(Exit::usage, "the variable " + name + " isn't set in your environment",
                    name + " alone uses the value from your environment; write " + name +
                        "=VALUE to give a value.");
    return {name, *value};
  }
  const std::string value = text.substr(equals + 1);
  if (!value.starts_with('@')) return {name, value};
  if (value.starts_with("@@")) return {name, value.substr(1)};
  if (value == "@")
    throw Failure(Exit::usage, name + "=@ names no file",
                  "Write " + name + "=@@ for a value that is an @.");
  std::string content = contents_of(value.substr(1));
  if (!is_utf8(content)) throw Failure(Exit::usage, value.substr(1) + " isn't UTF-8");
  if (content.ends_with('\n')) content.pop_back();
  if (content.ends_with('\r')) content.pop_back();
  return {name, content};
}

json parse_env_file(const std::string& text, const std::string& source,
                    const std::function<void(const std::string&)>& warn) {
  if (!is_utf8(text)) throw Failure(Exit::usage, source + " isn't UTF-8");
  return EnvFile(text, source, warn).parse();
}

}  // namespace berth::cli
