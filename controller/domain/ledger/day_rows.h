#pragma once

#include <string_view>

#include "controller/domain/ledger/days.h"

// Writes the rows that days.h reads. Private to the module.
namespace berth::ledger {

// Whether postings on the account are also summed up by the kind of their transactions.
bool has_kind_sums(const Account& account);

// Counts a posting of `amount`, which is negative if it left the account. `after` is what was ever
// posted on the account, including this posting.
void count_posting(db::Tx& tx, const Account& account, std::int64_t day, std::string_view kind,
                   std::int64_t amount, const Totals& after);

}  // namespace berth::ledger
