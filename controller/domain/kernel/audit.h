#pragma once

#include <string>
#include <string_view>

#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"

namespace berth::audit {

// Records what an admin did, in the transaction that does it. `details` is a JSON object.
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
// Newest first.
Page<Entry> list(db::Tx& tx, const PageRequest& page);

}  // namespace berth::audit
