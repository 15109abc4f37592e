#pragma once

#include "controller/db/database.h"

// Private to the module.
namespace berth::ledger {

// Starts the statement that chooses the place of a transaction in its millisecond: `place`, from 1
// to 2^20 - 1, in one row. Only for PostgreSQL, where a sequence gives the places, so that nothing
// is read that other writes change. They rise from call to call over all writes, and begin again.
db::Query next_place_later(db::Tx& tx);

}  // namespace berth::ledger
