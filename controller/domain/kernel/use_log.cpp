#include "controller/domain/kernel/use_log.h"

#include <algorithm>
#include <vector>

namespace berth {
namespace {

constexpr size_t flushed_at_once = 500;  // rows in one transaction: some milliseconds

}  // namespace

void UseLog::note(const std::string& id, Instant at) {
  const std::lock_guard lock(mutex_);
  const auto known = noted_.find(id);
  if (known != noted_.end())
    known->second = std::max(known->second, at);
  else if (noted_.size() < max_noted)
    noted_.emplace(id, at);
}

std::optional<Instant> UseLog::last(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  for (const Times* times : {&noted_, &written_})
    if (const auto known = times->find(id); known != times->end()) return known->second;
  return std::nullopt;
}

void UseLog::flush(db::Database& database) {
  {
    const std::lock_guard lock(mutex_);
    written_.clear();
  }
  for (;;) {
    std::vector<std::pair<std::string, Instant>> some;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& entry : noted_) {
        if (some.size() == flushed_at_once) break;
        some.push_back(entry);
      }
    }
    if (some.empty()) return;
    database.write([&](db::Tx& tx) {
      for (const auto& [id, at] : some) tx.execute(update_, id, at);
    });
    const std::lock_guard lock(mutex_);
    for (const auto& [id, at] : some) {
      const auto noted = noted_.find(id);
      if (noted == noted_.end() || noted->second != at) continue;
      written_.insert_or_assign(id, at);
      noted_.erase(noted);
    }
  }
}

}  // namespace berth
