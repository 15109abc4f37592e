#include "controller/berthd/reference.h"

#include <map>

#include "controller/base/error.h"
#include "controller/berthd/config.h"
#include "controller/berthd/exit_codes.h"

namespace berth {
namespace {

// Defaults that are longer, or are YAML lists, get a block of their own below the table.
constexpr size_t longest_in_table = 80;

bool fits_table(const Setting& setting) {
  return setting.value.size() <= longest_in_table && !setting.value.contains('\n');
}

// Returns the text as a table cell: characters that would begin an HTML tag or the next cell are
// escaped.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '|')
      result += "\\|";
    else
      result += c;
  }
  return result;
}

std::string default_of(const Setting& setting) {
  if (!fits_table(setting)) return "below";
  return setting.value.empty() ? "(empty)" : "`" + setting.value + "`";
}

std::string configuration() {
  const auto no_variables = [](const std::string&) { return std::optional<std::string>(); };
  const std::vector<Setting> settings = load_config({}, no_variables).settings;
  std::string text = "| key | default | meaning |\n| --- | --- | --- |\n";
  for (const Setting& setting : settings)
    text +=
        "| `" + setting.key + "` | " + default_of(setting) + " | " + cell(setting.meaning) + " |\n";
  for (const Setting& setting : settings) {
    if (fits_table(setting)) continue;
    const std::string start = setting.value.starts_with('\n') ? ":" : ":\n";
    const std::string end = setting.value.ends_with('\n') ? "" : "\n";
    text += "\nThe default of `" + setting.key + "`:\n\n```yaml\n" + setting.key + start +
            setting.value + end + "```\n";
  }
  return text;
}

std::string errors() {
  std::map<int, std::string> rows;
  for (const CodeInfo& code : all_codes())
    rows[code.status] += "| " + std::to_string(code.status) + " | `" + std::string(code.name) +
                         "` | " + cell(code.meaning) + " |\n";
  std::string text = "| status | code | meaning |\n| --- | --- | --- |\n";
  for (const auto& [status, lines] : rows) text += lines;
  return text;
}

std::string exits() {
  std::string text = "| exit code | meaning |\n| --- | --- |\n";
  for (const ExitCode& exit : exit_codes)
    text += "| " + std::to_string(exit.code) + " | " + cell(exit.meaning) + " |\n";
  return text;
}

const std::map<std::string, std::string (*)()>& pages() {
  static const std::map<std::string, std::string (*)()> table = {
      {"configuration", configuration}, {"errors", errors}, {"exit-codes", exits}};
  return table;
}

}  // namespace

std::vector<std::string> reference_pages() {
  std::vector<std::string> names;
  for (const auto& [name, make] : pages()) names.push_back(name);
  return names;
}

std::string reference(const std::string& page) { return pages().at(page)(); }

}  // namespace berth
