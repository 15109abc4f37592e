#pragma once

#include <string_view>

#include "controller/db/database.h"

// The account that owns what is built into berth. It is nobody's: every function treats it as an
// account that was deleted, so nobody can log in to it, find it or write to it.
namespace berth::accounts {

// A UUIDv7 (RFC 9562, section 5.7) that no new id can equal, because its time is 1970.
inline constexpr std::string_view keeper_id = "00000000-0000-7000-8000-000000000001";
// Creates the account unless it exists.
void add_keeper(db::Tx& tx);

}  // namespace berth::accounts
