#pragma once

#include <string>

#include "controller/domain/ledger/ledger.h"

// Empties the memos of all transactions of a deleted user's accounts. There may be millions of
// them, so `memo_erasures` has a row for each account, with the transaction up to which it is done.
namespace berth::ledger {

// Registers the account, if it exists, for erase_memos(). The user's row of `erasures` must exist.
void erase_memos_later(db::Tx& tx, const Account& account, const std::string& user_id);
// Goes through at most `limit` transactions of the user's registered accounts. Returns a number
// that is at least `limit` if there may be others.
int erase_memos(db::Tx& tx, const std::string& user_id, int limit);

// Whether accounts of the user are registered whose memos weren't all emptied.
bool has_memos(db::Tx& tx, const std::string& user_id);

}  // namespace berth::ledger
