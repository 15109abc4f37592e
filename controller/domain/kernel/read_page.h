#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"

// Reads pages of lists. A list is two statements and a function that reads a row.
namespace berth {

// A column that a list is sorted by, with the name under which `rows` returns it.
struct SortColumn {
  enum class Type { integer, text } type;
  std::string name;
};

// The statements of a list. The first placeholders of both are the list's own values.
struct ListSql {
  // Returns the number of rows, but not more than its last placeholder:
  //   SELECT count(*) FROM (SELECT 1 AS one FROM … WHERE … LIMIT $2) counted
  std::string count;
  // Returns rows. Its last placeholders are the position behind which they begin, a limit and an
  // offset. The columns of the position have to identify a row and need an index:
  //   SELECT … WHERE … AND (inserted_at, id) < ($2, $3) ORDER BY inserted_at DESC, id DESC
  //   LIMIT $4 OFFSET $5
  std::string rows;
  std::vector<SortColumn> sorted_by;
  enum class Order { ascending, descending } order = Order::descending;
};

// The parts of read_page() that don't depend on the type of the items.
// Returns the end of the range of texts that begin with `prefix`, for an index: those texts are at
// least `prefix` and less than the end.
std::string end_of_prefix(const std::string& prefix);

namespace paging {
// Binds the position, the limit and the offset to the placeholders behind `number`. Throws
// validation_failed if the request's position isn't one of this list.
void bind(db::Query& rows, int number, const ListSql& list, const PageRequest& request);
Position position_of(const db::Query& row, const ListSql& list);
}  // namespace paging

// Returns the page. `values` are bound to the first placeholders; `read(row)` returns an item.
template <typename Read, typename... Values>
auto read_page(db::Tx& tx, const ListSql& list, const PageRequest& request, Read&& read,
               const Values&... values) {
  using Item = std::invoke_result_t<Read, const db::Query&>;
  Page<Item> result = {.items = {}, .page = request.page, .page_size = request.page_size};
  const std::int64_t counted = tx.number(list.count, values..., Page<Item>::max_counted + 1);
  result.total_is_at_least = counted > Page<Item>::max_counted;
  result.total = result.total_is_at_least ? Page<Item>::max_counted : counted;
  db::Query rows = tx.query(list.rows, values...);
  paging::bind(rows, int(sizeof...(Values)), list, request);
  Position last;
  while (rows.next()) {
    if (int(result.items.size()) == request.page_size) {  // the row behind the page
      result.next = std::move(last);
      break;
    }
    result.items.push_back(read(std::as_const(rows)));
    if (int(result.items.size()) == request.page_size) last = paging::position_of(rows, list);
  }
  return result;
}

}  // namespace berth
