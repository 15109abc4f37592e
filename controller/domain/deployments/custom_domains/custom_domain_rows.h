#pragma once

#include <string>
#include <vector>

#include "controller/domain/deployments/custom_domains/custom_domains.h"

// How claims are stored. Private to this module.
namespace berth::custom_domains {

// "SELECT … FROM custom_domains c JOIN deployments d …", to be continued with a WHERE clause on `c`
// or `d`.
extern const std::string select_claims;
// Read the first row, or all rows, of a statement that begins with select_claims.
std::optional<Claim> first(db::Query rows);
std::vector<Claim> all(db::Query rows);

// Writes an entry to the deployment's log that its domain has changed its state or reason.
void log_state(db::Tx& tx, const Claim& claim);

}  // namespace berth::custom_domains
