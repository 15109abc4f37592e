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

// Both count credits that were pending (pending.h), after the account's row was changed. There may
// be rows of later days already.
void count_earlier_credits(db::Tx& tx, const Account& account, std::int64_t day,
                           std::int64_t amount);
// `kind` is a number. Does nothing for an account without sums by kind.
void count_credits_of_kind(db::Tx& tx, const Account& account, std::int64_t day, std::int64_t kind,
                           std::int64_t postings, std::int64_t amount);

}  // namespace berth::ledger
