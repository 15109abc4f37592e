#include "controller/domain/kernel/read_page.h"

#include <limits>

#include "controller/base/error.h"

namespace berth {
namespace {

// A text that is greater than every text that a list is sorted by: U+10FFFF is never a character.
constexpr const char* last_text = "\xf4\x8f\xbf\xbf";

}  // namespace

std::string end_of_prefix(const std::string& prefix) { return prefix + last_text; }

namespace paging {
namespace {

using Type = SortColumn::Type;

// Returns the position of the first page, which is before all rows.
Position before_all(const ListSql& list) {
  const bool ascending = list.order == ListSql::Order::ascending;
  Position position;
  for (const SortColumn& column : list.sorted_by) {
    using Integers = std::numeric_limits<std::int64_t>;
    if (column.type == Type::integer)
      position.emplace_back(ascending ? Integers::min() : Integers::max());
    else
      position.emplace_back(std::string(ascending ? "" : last_text));
  }
  return position;
}

bool fits(const Position& position, const ListSql& list) {
  if (position.size() != list.sorted_by.size()) return false;
  for (size_t i = 0; i < position.size(); ++i)
    if (std::holds_alternative<std::int64_t>(position[i]) !=
        (list.sorted_by[i].type == Type::integer))
      return false;
  return true;
}

}  // namespace

void bind(db::Query& rows, int number, const ListSql& list, const PageRequest& request) {
  if (request.after && !fits(*request.after, list))
    throw invalid_field("cursor", "isn't a cursor of this list");
  const Position first = request.first ? *request.first : before_all(list);
  for (const auto& value : request.after ? *request.after : first)
    std::visit([&](const auto& each) { rows.bind(++number, each); }, value);
  rows.bind(++number, request.page_size + 1);  // whether the list goes on
  rows.bind(++number, request.offset());
}

Position position_of(const db::Query& row, const ListSql& list) {
  Position position;
  for (const SortColumn& column : list.sorted_by)
    if (column.type == Type::integer)
      position.emplace_back(row.integer(column.name));
    else
      position.emplace_back(row.text(column.name));
  return position;
}

}  // namespace paging
}  // namespace berth
