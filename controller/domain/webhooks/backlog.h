#pragma once

#include "controller/db/database.h"

namespace berth::webhooks {

// What waits to be delivered.
struct Backlog {
  std::int64_t waiting = 0;  // deliveries
  Duration overdue{0};       // how long the oldest attempt has been due; 0 if none is due
};
// Costs a step in an index for each delivery that waits, of which a webhook has at most 500.
Backlog backlog(db::Tx& tx);

}  // namespace berth::webhooks
