#pragma once

#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/db/database.h"

// Deleting an account and signing up again must not earn the bonuses of a new user twice: for a
// year, an address whose account was deleted brings no points. Addresses are stored as an HMAC with
// the data key.
namespace berth::accounts {

inline constexpr Duration address_remembered_for = std::chrono::hours(365 * 24);

// Returns the mailbox that an address is delivered to by most providers: the address in its
// canonical form (email_key()), without the "+tag" of its local part and, for Gmail, without dots
// there.
std::string mailbox_of(std::string_view email);

// Remembers the address of an account that is being deleted; to be called in the same transaction,
// and only if the address was verified. Otherwise anybody could take away a stranger's bonus by
// registering their address.
void remember_address(db::Tx& tx, std::string_view email, const std::string& data_key);
// Whether an account with this mailbox was deleted within address_remembered_for.
bool is_returning(db::Tx& tx, std::string_view email, const std::string& data_key);

}  // namespace berth::accounts
