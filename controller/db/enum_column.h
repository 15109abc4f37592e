#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "controller/base/enum_text.h"
#include "controller/db/database.h"

// Columns that store the texts of an enum (base/enum_text.h).
namespace berth::db {

// Returns the value of a column of the present row. Throws std::runtime_error, which names the
// column and its text, if no value of the enum has that text.
template <EnumWithTexts E>
E enum_of(const Query& row, std::string_view column) {
  const std::string text = row.text(column);
  const auto value = parse_enum<E>(text);
  if (!value)
    throw std::runtime_error("the column " + std::string(column) + " has the text \"" + text +
                             "\", which is not " + alternatives<E>());
  return *value;
}
// Returns nothing for NULL.
template <EnumWithTexts E>
std::optional<E> enum_or_null(const Query& row, std::string_view column) {
  return row.null(column) ? std::nullopt : std::optional(enum_of<E>(row, column));
}

}  // namespace berth::db
