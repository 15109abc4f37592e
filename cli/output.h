#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

// What a command prints. Results go to stdout, in the form that was asked for; what is said to
// people on the way goes to stderr, so that a pipe gets the result alone.
namespace berth::cli {

using nlohmann::json;

enum class Format { table, as_json, as_yaml };
Format parse_format(const std::string& name);  // throws Failure usage
std::string name_of(Format format);

// How many columns of a terminal a text takes: two for a character of Chinese, none for an accent
// that stands alone.
size_t cells(const std::string& text);

// Columns as wide as their widest cell, two blanks between, nothing behind the last one. Control
// characters of the server's texts are shown as '?', so that none of them steers the terminal.
std::string table_of(const std::vector<std::string>& head,
                     const std::vector<std::vector<std::string>>& rows);
// "Name:  value" lines; rows with an empty value are left out.
std::string facts_of(const std::vector<std::pair<std::string, std::string>>& facts);
std::string printable(std::string_view text);

// A YAML 1.2 document with the same content: parse_yaml() gives it back.
std::string to_yaml(const json& value);

// A field as a cell: texts as they are, null and absent as "-", lists with commas, booleans as yes
// and no. `path` may name a field in a field: "limits.memory_mb".
std::string cell(const json& object, std::string_view path);

struct Column {
  std::string title;
  std::string path;
};

class Output {
 public:
  explicit Output(Format format) : format_(format) {}
  Format format() const { return format_; }

  // `body` for machines, `text` for people.
  void print(const json& body, const std::function<std::string()>& text) const;
  void list(const json& body, const json& items, const std::vector<Column>& columns) const;
  void object(const json& body, const json& object, const std::vector<Column>& fields) const;
  // A sentence about what was done, with the server's answer for machines.
  void done(const json& body, const std::string& sentence) const;

 private:
  Format format_;
};

// To stderr.
void say(const std::string& line);

}  // namespace berth::cli
