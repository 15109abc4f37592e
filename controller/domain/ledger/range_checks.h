#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "controller/db/database.h"
#include "controller/domain/ledger/finding.h"

// Checks that look at each reservation, deployment, claw-back or campaign (a "thing") by itself, so
// that they can be run on a few of them at a time. Private to the module.
namespace berth::ledger {

struct RangeCheck {
  const char* name;
  const char* what;  // what the things are, such as "campaigns"
  // Finds the violations among the things whose ids are after `begin` and, if that is set, not
  // after `end`. `checked` stays 0.
  Finding (*broken)(db::Tx& tx, const std::string& begin, const std::optional<std::string>& end);
  // Selects the ids of the next $2 things after $1, in their order.
  std::string_view keys;
};
std::span<const RangeCheck> range_checks();

// Runs a statement that selects violations: `id`, and `difference`. `checked` stays 0.
Finding violations(db::Query rows);
// How many charges, changes of deployments, refunds and claw-backs have the transaction with this
// id.
std::int64_t charges_with(db::Tx& tx, const std::string& transaction_id);
// Checks at most `limit` things after `position` and moves it to the last of them.
Finding check_some(db::Tx& tx, const RangeCheck& check, std::string& position, int limit);

}  // namespace berth::ledger
