#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"

namespace berth::audit {

// Records an administrator's action in the transaction that performs it. `details` is a JSON
// object.
void record(db::Tx& tx, std::string_view actor, std::string_view action, std::string_view target,
            std::string_view details = "{}");

struct Entry {
  std::string id;
  std::string actor;
  std::string action;
  std::string target;
  std::string details;  // a JSON object
  Instant at;
};
// What a list contains: entries that have all of these. The times are those of entries at or after
// `from` and before `until`.
struct Filter {
  std::optional<std::string> actor = {};
  std::optional<std::string> action = {};
  std::optional<std::string> target = {};
  std::optional<Instant> from = {};
  std::optional<Instant> until = {};
};
// The entries of the audit log, newest first.
Page<Entry> list(db::Tx& tx, const Filter& filter, const PageRequest& page);

// Empties the details of at most `limit` entries about one of the targets. Returns the number of
// entries that had details.
int erase_details(db::Tx& tx, std::initializer_list<std::string> targets, int limit);

}  // namespace berth::audit
