#pragma once

#include <cstdint>
#include <vector>

namespace berth {

// A request for one page of a list. Pages are counted from 1.
struct PageRequest {
  static constexpr int default_size = 20;
  static constexpr int max_size = 100;
  int page = 1;
  int page_size = default_size;
  std::int64_t offset() const { return std::int64_t(page - 1) * page_size; }
};

template <typename T>
struct Page {
  std::vector<T> items;
  int page = 1;
  int page_size = PageRequest::default_size;
  std::int64_t total = 0;
  bool is_last() const { return std::int64_t(page) * page_size >= total; }
};

}  // namespace berth
