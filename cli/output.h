#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

// What a command prints. Results go to stdout in the requested format, and messages for the user go
// to stderr, so that a pipe receives the result alone.
namespace berth::cli {

using nlohmann::json;

enum class Format { table, as_json, as_yaml };
Format parse_format(const std::string& name);  // throws Failure `usage`
std::string name_of(Format format);

// The number of terminal columns that a text takes: two for a Chinese character, none for a
// combining accent.
size_t cells(const std::string& text);

// A table whose columns are as wide as their widest cell, separated by two spaces, without spaces
// at the end of a line. Control characters in the server's texts are shown as '?', so that they
// can't control the terminal.
std::string table_of(const std::vector<std::string>& head,
                     const std::vector<std::vector<std::string>>& rows);
// Lines of the form "Name:  value". Entries with an empty value are left out.
std::string facts_of(const std::vector<std::pair<std::string, std::string>>& facts);
// The text with control characters replaced by '?'.
std::string printable(std::string_view text);

// A YAML 1.2 document with the same content, which parse_yaml() turns back into the value.
std::string to_yaml(const json& value);

// The text of a table cell for a field: texts as they are, null and missing values as "-", lists
// with commas, booleans as yes and no. `path` may lead into an object, as in "limits.memory_mb".
std::string cell(const json& object, std::string_view path);

struct Column {
  std::string title;
  std::string path;
};

// Prints results in the chosen format.
class Output {
 public:
  explicit Output(Format format) : format_(format) {}
  Format format() const { return format_; }

  // Prints `body` in the formats for machines, or `text` in the one for people.
  void print(const json& body, const std::function<std::string()>& text) const;
  void list(const json& body, const json& items, const std::vector<Column>& columns) const;
  void object(const json& body, const json& object, const std::vector<Column>& fields) const;
  // Prints a sentence about what was done, or the server's answer in the formats for machines.
  void done(const json& body, const std::string& sentence) const;

 private:
  Format format_;
};

// Prints a line to stderr.
void say(const std::string& line);

}  // namespace berth::cli
