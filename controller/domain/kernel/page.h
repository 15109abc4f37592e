#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace berth {

// A row's place in a list: its values of the columns that the list is sorted by.
using Position = std::vector<std::variant<std::int64_t, std::string>>;

// A request for one page of a list: the page with a number, counted from 1, or the one that begins
// behind a position. Rows that are added or removed meanwhile don't shift
// what follows a position.
struct PageRequest {
  static constexpr int default_size = 20;
  static constexpr int max_size = 100;
  // Rows before a page that is asked for by its number. Skipping them takes time, so the API
  // refuses to skip more.
  static constexpr std::int64_t max_skipped = 10'000;
  int page = 1;
  int page_size = default_size;
  // If it is set, the page begins after this position, and `page` only says which page that is.
  std::optional<Position> after = {};
  // The position after which the first page begins. If it is empty, the page begins with the first
  // row. Lists set it themselves, for a filter that leaves out the beginning, such as a time.
  std::optional<Position> first = {};
  std::int64_t offset() const { return after ? 0 : std::int64_t(page - 1) * page_size; }
};

template <typename T>
struct Page {
  // Rows are counted up to this number, because counting takes time.
  static constexpr std::int64_t max_counted = 10'000;
  std::vector<T> items;
  int page = 1;
  int page_size = PageRequest::default_size;
  std::int64_t total = 0;
  bool total_is_at_least = false;     // whether there are more than `total`
  std::optional<Position> next = {};  // the position of the last item, unless the list ends there
};

// Returns the page of a short list that is in memory. A position is the number of items before it,
// so items can be missed or seen twice if the list changes between two pages.
template <typename T>
Page<T> page_of(std::vector<T> all, const PageRequest& request) {
  Page<T> result = {.items = {},
                    .page = request.page,
                    .page_size = request.page_size,
                    .total = std::int64_t(all.size())};
  std::int64_t at = request.offset();
  if (request.after && !request.after->empty())
    if (const auto* passed = std::get_if<std::int64_t>(request.after->data()))
      at = *passed < 0 ? 0 : *passed;
  for (; at < result.total && std::int64_t(result.items.size()) < request.page_size; ++at)
    result.items.push_back(std::move(all[size_t(at)]));
  if (at < result.total) result.next = {at};
  return result;
}

}  // namespace berth
