#pragma once

#include <optional>
#include <string>

#include "controller/db/database.h"

// What a transaction of the ledger was charged or given back for. For receipts.
namespace berth::billing {

struct Charged {
  std::optional<std::string> deployment_id;
  std::optional<std::string> build_id;
  // What was paid for: a period, the rest of one, the time of a build, or the UTC day whose hours
  // an app's deployments were charged for together.
  std::optional<Instant> from;
  std::optional<Instant> until;
};
// Nothing if it was neither for deployments nor for a build.
std::optional<Charged> charged_by(db::Tx& tx, const std::string& transaction_id);

}  // namespace berth::billing
