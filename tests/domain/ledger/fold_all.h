#pragma once

#include "controller/db/database.h"
#include "controller/domain/ledger/pending.h"

namespace berth::test {

// Adds all pending credits to the rows of their accounts, as the loop of pending credits does. On
// SQLite there are none.
inline void fold_all(db::Tx& tx) {
  while (ledger::fold(tx) > 0) {
  }
}

}  // namespace berth::test
