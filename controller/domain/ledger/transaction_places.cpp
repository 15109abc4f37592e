#include "controller/domain/ledger/transaction_places.h"

namespace berth::ledger {

// The trigger ledger_transactions_places gives another place to a row that has the place 0, so the
// next one is taken instead.
db::Query next_place_later(db::Tx& tx) {
  return tx.query_later(R"(
      SELECT coalesce(nullif(nextval('ledger_places'), 0), nextval('ledger_places')) AS place)");
}

}  // namespace berth::ledger
