#pragma once

#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/db/database.h"

// Whoever deletes their account and signs up again is no new user: for a year an address that was
// deleted brings no points. Addresses are kept as an HMAC with the data key.
namespace berth::accounts {

inline constexpr Duration address_remembered_for = std::chrono::hours(365 * 24);

// The mailbox that the address leads to, as most providers have it: in lower case, without what
// follows a '+' in its local part, and for Gmail without dots there.
std::string mailbox_of(std::string_view email);

// In the transaction that deletes an account whose address was verified. One that never was proves
// nothing: else anybody could take a stranger's bonus away.
void remember_address(db::Tx& tx, std::string_view email, const std::string& data_key);
// Whether an account with this mailbox was deleted less than address_remembered_for ago.
bool is_returning(db::Tx& tx, std::string_view email, const std::string& data_key);

}  // namespace berth::accounts
