#include "controller/domain/kernel/use_log.h"

#include <algorithm>
#include <vector>

namespace berth {
namespace {

constexpr size_t flushed_at_once = 500;  // rows in one transaction: some milliseconds

}  // namespace

void UseLog::note(const std::string& id, Instant at, const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto known = noted_.find(id);
  if (known != noted_.end()) {
    if (known->second.at <= at) known->second = {.at = at, .address = address};
  } else if (noted_.size() < max_noted) {
    noted_.emplace(id, Use{.at = at, .address = address});
  }
}

std::optional<Use> UseLog::last_use(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  for (const Uses* uses : {&noted_, &written_})
    if (const auto known = uses->find(id); known != uses->end()) return known->second;
  return std::nullopt;
}

std::optional<Instant> UseLog::last(const std::string& id) const {
  const auto use = last_use(id);
  return use ? std::optional(use->at) : std::nullopt;
}

void UseLog::flush(db::Database& database) {
  {
    const std::lock_guard lock(mutex_);
    written_.clear();
  }
  for (;;) {
    std::vector<std::pair<std::string, Use>> some;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& entry : noted_) {
        if (some.size() == flushed_at_once) break;
        some.push_back(entry);
      }
    }
    if (some.empty()) return;
    database.write([&](db::Tx& tx) {
      for (const auto& [id, use] : some)
        if (keeps_ == Keeps::time)
          tx.execute(update_, id, use.at);
        else
          tx.execute(update_, id, use.at, use.address);
    });
    const std::lock_guard lock(mutex_);
    for (const auto& [id, use] : some) {
      const auto noted = noted_.find(id);
      if (noted == noted_.end() || noted->second.at != use.at) continue;
      written_.insert_or_assign(id, noted->second);
      noted_.erase(noted);
    }
  }
}

}  // namespace berth
