#include "controller/db/write_meter.h"

#include <algorithm>

namespace berth::db {
namespace {

thread_local WriteMeter* innermost = nullptr;

}  // namespace

WriteMeter::WriteMeter() : outer_(innermost) { innermost = this; }
WriteMeter::~WriteMeter() {
  innermost = outer_;
  add(total_);
}

void WriteMeter::add(const Written& written) {
  if (innermost != nullptr) innermost->total_ += written;
}

StatementCost::StatementCost(std::string_view sql) : kind_(Kind::other) {
  const std::string_view first = sql.substr(std::min(sql.find_first_not_of(" \n"), sql.size()));
  if (first.starts_with("INSERT")) kind_ = Kind::inserts;
  if (first.starts_with("UPDATE")) kind_ = Kind::updates;
  constexpr std::size_t place_of_table = 12;  // in an INSERT
  if (kind_ == Kind::inserts && first.find("audit_log") == place_of_table)
    copies_ = copies_in_audit_log;
}

Written StatementCost::of_run(std::int64_t changed) const {
  switch (kind_) {
    case Kind::inserts:
      return {.bytes = changed * (bytes_of_head + copies_ * bound_), .rows = changed};
    case Kind::updates:
      return {.bytes = changed == 0 ? 0 : bound_long_, .rows = 0};
    case Kind::other:
      break;
  }
  return {};
}

}  // namespace berth::db
