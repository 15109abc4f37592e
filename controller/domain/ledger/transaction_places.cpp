#include "controller/domain/ledger/transaction_places.h"

namespace berth::ledger {

// The trigger ledger_transactions_places gives another place to a row that has the place 0.
db::Query next_place_later(db::Tx& tx) {
  return tx.query_later(R"(SELECT greatest(nextval('ledger_places'), 1) AS place)");
}

}  // namespace berth::ledger
