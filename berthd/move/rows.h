#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Rows as lines of the text format of PostgreSQL's COPY (its manual, COPY, "Text Format"), in the
// form in which the server writes them. Both engines' rows are compared in this form.
namespace berth::move {

// Appends a value to a line that is being made, behind a tab unless it is the first of the line.
// Nothing means NULL.
void append_value(std::string& line, bool is_first, const std::optional<std::string_view>& value);

// Splits a line without its newline into values. Throws std::runtime_error if the line isn't in
// that format.
std::vector<std::optional<std::string>> parse_line(std::string_view line);

// What a table's rows are, in whichever order they come: how many, and the sum of their SHA-256.
class Digest {
 public:
  // `line` has no newline.
  void add(std::string_view line);
  std::int64_t rows() const { return rows_; }
  bool operator==(const Digest&) const = default;

 private:
  std::int64_t rows_ = 0;
  std::array<std::uint64_t, 4> sums_{};  // modulo 2^64
};

}  // namespace berth::move
