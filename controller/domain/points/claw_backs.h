#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controller/db/database.h"

// What admins take back of what a user or an app was given by mistake: a refund, or points of the
// treasury. They go back to where they came from, and never bring a balance below zero. Minted
// points, and what came from an app that was deleted, go to the treasury.
namespace berth::points {

// A transaction whose points can be taken back: a refund of a spend, or one that gave an app or a
// user points of the treasury or minted ones.
struct Given {
  std::string transaction_id;  // in lower case
  std::string account_kind;    // user or app: who has got the points
  std::string owner;           // the id of that user or app
  std::int64_t amount = 0;
  std::int64_t taken_back = 0;
};
// Returns nothing if there is no such transaction, or it is of another kind. `transaction_id` is a
// UUID.
std::optional<Given> find_given(db::Tx& tx, const std::string& transaction_id);

struct ClawBackOrder {
  std::string transaction_id;
  std::int64_t amount = 0;  // 1 to ledger::max_points
  std::string reason;       // both sides see it; at most max_description_length characters
  std::string admin;        // for the audit log
};
struct ClawBack {
  std::string id;  // that of the ledger transaction
  std::string transaction_id;
  std::int64_t amount = 0;
  std::int64_t taken_back = 0;  // altogether
  std::int64_t left = 0;        // what can still be taken back
  Instant at;
};
// Takes the points back. Bonus points that a refund has given go back as such. Needs a serializable
// write. Throws not_found if find_given() finds nothing; validation_failed if the amount is more
// than what is left of the transaction; insufficient_balance if the account has less.
ClawBack claw_back(db::Tx& tx, const ClawBackOrder& order);

}  // namespace berth::points
