#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/failure.h"

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

enum class Paint { plain, coloured };

// A table whose columns are as wide as their widest cell, separated by two spaces, without spaces
// at the end of a line. Control characters in the server's texts are shown as '?', so that they
// can't control the terminal. If it is coloured, the head is bold, and the states in columns called
// STATUS, STATE, HEALTH or RESULT have their colours.
std::string table_of(const std::vector<std::string>& head,
                     const std::vector<std::vector<std::string>>& rows, Paint paint = Paint::plain);
// Lines of the form "Name:  value". Entries with an empty value are left out.
std::string facts_of(const std::vector<std::pair<std::string, std::string>>& facts);
// The text with control characters, and those that change the direction of text, replaced by '?'.
std::string printable(std::string_view text);

// A YAML 1.2 document with the same content, which parse_yaml() turns back into the value.
std::string to_yaml(const json& value);

// The text of a table cell for a field: texts as they are, null and missing values as "-", lists
// with commas, booleans as yes and no. `path` may lead into an object, as in "limits.memory_mb".
std::string cell(const json& object, std::string_view path);

// The text with each SHA-256 digest cut to its first 12 digits, which tell images apart in a table.
std::string with_short_digests(const std::string& text);

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
  // Print `items` as a table, and `object` as a list of fields, for people; `body` in the formats
  // for machines.
  void list(const json& body, const json& items, const std::vector<Column>& columns) const;
  void object(const json& body, const json& object, const std::vector<Column>& fields) const;
  // Prints a sentence about what was done, or the server's answer in the formats for machines.
  void done(const json& body, const std::string& sentence) const;
  // The table that list() prints for people, and whether it is coloured.
  static std::string table(const json& items, const std::vector<Column>& columns);
  static Paint paint();  // how output to stdout is coloured

 private:
  Format format_;
};

// Chooses the form of what is printed to stderr, for the whole program: text, one JSON object a
// line, or YAML with the messages as comments.
void speak(Format format);
bool says_text();
// Prints a line to stderr. In JSON it is {"message": line}.
void say(const std::string& line);
// Prints the error that ends the command to stderr: see as_json(const Failure&).
void report(const Failure& failure);

}  // namespace berth::cli
