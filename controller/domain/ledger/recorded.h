#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/ledger/ledger.h"

// Transactions as they stand in the ledger.
namespace berth::ledger {

struct Recorded {
  struct Posting {
    Account account;
    std::int64_t amount = 0;  // negative if the points left the account
  };
  std::string id;
  std::string kind;
  std::string memo;
  Instant at;
  std::vector<Posting> postings;  // in the order of the movements
};
// Nothing if there is none with this id, which must be a UUID.
std::optional<Recorded> find_recorded(db::Tx& tx, const std::string& id);

}  // namespace berth::ledger
