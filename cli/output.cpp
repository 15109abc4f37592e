#include "cli/output.h"

#include <locale.h>
#include <unistd.h>
#include <wchar.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cwchar>
#include <iostream>

#include "cli/colour.h"
#include "controller/base/text.h"
#include "controller/base/yaml.h"

namespace berth::cli {
namespace {

constexpr size_t between_columns = 2;
constexpr size_t shown_digits = 12;  // how much of a digest is shown, as by git and docker
constexpr size_t digits_of_digest = 64;

Format spoken = Format::table;  // set once, before the command runs

std::string padded(const std::string& text, size_t width) {
  return text + std::string(width - std::min(width, cells(text)), ' ');
}

// Whether the text, written as a plain scalar, would be read as something else or couldn't be read.
bool needs_quotes(const std::string& text) {
  const auto special = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (text.empty() || std::ranges::any_of(text, special)) return true;
  try {
    return parse_yaml(text, "") != json(text);
  } catch (const std::runtime_error&) {
    return true;
  }
}

void emit(YAML::Emitter& out, const json& value) {
  if (value.is_object()) {
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& [key, entry] : value.items()) {
      out << YAML::Key;
      emit(out, key);
      out << YAML::Value;
      emit(out, entry);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const json& entry : value) emit(out, entry);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (needs_quotes(text)) out << YAML::DoubleQuoted;
    out << text;
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << value.dump();
  }
}

const json& at_path(const json& object, std::string_view path) {
  static const json null;
  const json* value = &object;
  while (!path.empty()) {
    const size_t end = std::min(path.find('.'), path.size());
    if (!value->is_object()) return null;
    const auto found = value->find(std::string(path.substr(0, end)));
    if (found == value->end()) return null;
    value = &*found;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return *value;
}

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_array()) return value.dump();
  std::string result;
  for (const json& entry : value) result += (result.empty() ? "" : ", ") + text_of(entry);
  return result.empty() ? "-" : result;
}

}  // namespace

Format parse_format(const std::string& name) {
  if (name == "table") return Format::table;
  if (name == "json") return Format::as_json;
  if (name == "yaml") return Format::as_yaml;
  throw Failure(Exit::usage, "output must be table, json or yaml, not \"" + name + "\"");
}

std::string name_of(Format format) {
  return format == Format::as_json ? "json" : format == Format::as_yaml ? "yaml" : "table";
}

size_t cells(const std::string& text) {
  // Uses Unicode's widths, whatever the user's locale is.
  static const locale_t unicode = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (unicode == nullptr) return characters(text);
  const locale_t before = ::uselocale(unicode);
  std::mbstate_t state = {};
  size_t count = 0;
  for (size_t i = 0; i < text.size();) {
    wchar_t c = 0;
    const size_t bytes = std::mbrtowc(&c, text.data() + i, text.size() - i, &state);
    const bool broken = bytes == 0 || bytes > text.size();
    if (broken) state = {};
    const int width = broken ? 1 : ::wcwidth(c);
    count += width < 0 ? 1 : size_t(width);
    i += broken ? 1 : bytes;
  }
  ::uselocale(before);
  return count;
}

std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c == '\n' || c == '\t')
      c = ' ';
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  // The C1 control characters in UTF-8; some terminals treat 0x9b as "ESC [".
  for (size_t i = 0; i + 1 < result.size(); ++i)
    if (result[i] == '\xc2' && static_cast<unsigned char>(result[i + 1]) < 0xa0)
      result.replace(i, 2, "?");
  // Overrides of direction, and what else changes it (UAX #9, section 2), in UTF-8.
  for (size_t i = 0; i + 2 < result.size(); ++i) {
    const auto last = static_cast<unsigned char>(result[i + 2]);
    const std::string_view start = std::string_view(result).substr(i, 2);
    if ((start == "\xe2\x80" && last >= 0xaa && last <= 0xae) ||
        (start == "\xe2\x81" && last >= 0xa6 && last <= 0xa9))
      result.replace(i, 3, "?");
  }
  return result;
}

namespace {

bool holds_states(const std::string& title) {
  return title == "STATUS" || title == "STATE" || title == "HEALTH" || title == "RESULT";
}

Colour colour_of_cell(const std::string& title, const std::string& text, bool is_head) {
  if (is_head) return Colour::bold;
  return holds_states(title) ? colour_of_state(text) : Colour::none;
}

}  // namespace

std::string with_short_digests(const std::string& text) {
  constexpr std::string_view start = "sha256:";
  std::string result;
  size_t done = 0;
  for (size_t at = text.find(start); at != std::string::npos; at = text.find(start, done)) {
    const size_t digits = at + start.size();
    size_t end = digits;
    while (end < text.size() && std::isxdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    const bool is_digest = end - digits == digits_of_digest;
    result += text.substr(done, (is_digest ? digits + shown_digits : end) - done);
    done = end;
  }
  return result + text.substr(done);
}

std::string table_of(const std::vector<std::string>& head,
                     const std::vector<std::vector<std::string>>& rows, Paint paint) {
  std::vector<std::vector<std::string>> lines = {head};
  for (const auto& row : rows) {
    lines.emplace_back();
    for (const std::string& text : row) lines.back().push_back(printable(text));
  }
  std::vector<size_t> widths(head.size(), 0);
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], cells(line[i]));
  std::string result;
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      const Colour colour = paint == Paint::plain
                                ? Colour::none
                                : colour_of_cell(head[i], line[i], &line == &lines.front());
      result += painted(line[i], colour);
      if (i + 1 < line.size())
        result += std::string(widths[i] + between_columns - cells(line[i]), ' ');
    }
    result += '\n';
  }
  return result;
}

std::string facts_of(const std::vector<std::pair<std::string, std::string>>& facts) {
  size_t width = 0;
  for (const auto& [name, value] : facts)
    if (!value.empty()) width = std::max(width, cells(name) + 1);
  std::string result;
  for (const auto& [name, value] : facts)
    if (!value.empty())
      result += padded(name + ":", width + between_columns) + printable(value) + "\n";
  return result;
}

std::string to_yaml(const json& value) {
  YAML::Emitter out;
  emit(out, value);
  return std::string(out.c_str()) + "\n";
}

std::string cell(const json& object, std::string_view path) {
  return text_of(at_path(object, path));
}

void Output::print(const json& body, const std::function<std::string()>& text) const {
  // Invalid UTF-8 must not make the output fail.
  constexpr auto replace = json::error_handler_t::replace;
  switch (format_) {
    case Format::as_json:
      std::cout << body.dump(2, ' ', false, replace) << "\n";
      return;
    case Format::as_yaml:
      std::cout << to_yaml(body);
      return;
    case Format::table:
      std::cout << text();
  }
}

void Output::list(const json& body, const json& items, const std::vector<Column>& columns) const {
  print(body, [&] { return table(items, columns); });
}

std::string Output::table(const json& items, const std::vector<Column>& columns) {
  std::vector<std::string> head;
  head.reserve(columns.size());
  for (const Column& column : columns) head.push_back(column.title);
  std::vector<std::vector<std::string>> rows;
  for (const json& item : items) {
    rows.emplace_back();
    for (const Column& column : columns)
      rows.back().push_back(with_short_digests(cell(item, column.path)));
  }
  return table_of(head, rows, paint());
}

Paint Output::paint() { return shows_colours(STDOUT_FILENO) ? Paint::coloured : Paint::plain; }

void Output::object(const json& body, const json& object, const std::vector<Column>& fields) const {
  print(body, [&] {
    std::vector<std::pair<std::string, std::string>> facts;
    for (const Column& field : fields) {
      const std::string text = cell(object, field.path);
      facts.emplace_back(field.title, text == "-" ? "" : text);
    }
    return facts_of(facts);
  });
}

void Output::done(const json& body, const std::string& sentence) const {
  print(body, [&] { return printable(sentence) + "\n"; });
}

void speak(Format format) { spoken = format; }
bool says_text() { return spoken == Format::table; }

void say(const std::string& line) {
  constexpr auto replace = json::error_handler_t::replace;
  switch (spoken) {
    case Format::as_json:
      std::cerr << json{{"message", line}}.dump(-1, ' ', false, replace) << "\n";
      return;
    case Format::as_yaml:
      std::cerr << "# " << printable(line) << "\n";
      return;
    case Format::table:
      std::cerr << printable(line) << "\n";
  }
}

void report(const Failure& failure) {
  constexpr auto replace = json::error_handler_t::replace;
  switch (spoken) {
    case Format::as_json:
      std::cerr << as_json(failure).dump(-1, ' ', false, replace) << "\n";
      return;
    case Format::as_yaml:
      std::cerr << to_yaml(as_json(failure));
      return;
    case Format::table:
      break;
  }
  const Colour red = shows_colours(STDERR_FILENO) ? Colour::red : Colour::none;
  std::cerr << painted("berth:", red) << " " << printable(failure.what()) << "\n";
  for (const std::string& line : failure.details) say("  " + line);
  if (!failure.advice.empty()) say(failure.advice);
  if (!failure.docs_url.empty()) say("See " + failure.docs_url);
}

}  // namespace berth::cli
