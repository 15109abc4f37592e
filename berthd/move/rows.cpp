#include "berthd/move/rows.h"

#include <cstring>
#include <stdexcept>

#include "controller/base/crypto.h"

namespace berth::move {
namespace {

constexpr std::string_view null_value = "\\N";
// Characters that are written as a backslash and a letter.
constexpr std::string_view special = "\b\f\n\r\t\v\\";
constexpr std::string_view letters = "bfnrtv\\";

std::string unescaped(std::string_view field) {
  std::string value;
  value.reserve(field.size());
  for (size_t i = 0; i < field.size(); ++i) {
    if (field[i] != '\\') {
      value += field[i];
      continue;
    }
    const size_t letter = ++i < field.size() ? letters.find(field[i]) : std::string_view::npos;
    if (letter == std::string_view::npos)
      throw std::runtime_error("a row of the database can't be read");
    value += special[letter];
  }
  return value;
}

}  // namespace

void append_value(std::string& line, bool is_first, const std::optional<std::string_view>& value) {
  if (!is_first) line += '\t';
  if (!value) {
    line += null_value;
    return;
  }
  for (std::string_view left = *value;;) {
    const size_t plain = left.find_first_of(special);
    line += left.substr(0, plain);
    if (plain == std::string_view::npos) return;
    line += '\\';
    line += letters[special.find(left[plain])];
    left.remove_prefix(plain + 1);
  }
}

std::vector<std::optional<std::string>> parse_line(std::string_view line) {
  std::vector<std::optional<std::string>> values;
  for (;;) {
    const size_t end = line.find('\t');
    const std::string_view field = line.substr(0, end);
    if (field == null_value)
      values.emplace_back();
    else
      values.emplace_back(unescaped(field));
    if (end == std::string_view::npos) return values;
    line.remove_prefix(end + 1);
  }
}

void Digest::add(std::string_view line) {
  ++rows_;
  const std::string hash = sha256(line);
  for (size_t i = 0; i < sums_.size(); ++i) {
    std::uint64_t part = 0;
    std::memcpy(&part, hash.data() + i * sizeof part, sizeof part);
    sums_[i] += part;
  }
}

}  // namespace berth::move
