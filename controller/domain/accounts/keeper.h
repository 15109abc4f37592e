#pragma once

#include <string_view>

#include "controller/db/database.h"

// The account that owns what is built into berth. Nobody has it: to every function it is an account
// that was deleted, so nobody can log in to it, find it or write to it.
namespace berth::accounts {

inline constexpr std::string_view keeper_id = "00000000-0000-7000-8000-000000000001";
// Creates the account unless it exists.
void add_keeper(db::Tx& tx);

}  // namespace berth::accounts
