#include "controller/domain/ledger/recorded.h"

#include "controller/base/id.h"
#include "controller/domain/ledger/numbers.h"

namespace berth::ledger {

std::optional<Recorded> find_recorded(db::Tx& tx, const std::string& id) {
  if (!is_uuid(id)) return std::nullopt;
  const IdParts parts = parts_of_id(id);
  const std::int64_t first = first_number(time_of_id(parts));
  auto rows = tx.query(R"(
      SELECT t.number, k.kind, t.memo, a.kind AS account_kind, a.owner, p.amount
      FROM ledger_transactions t
      JOIN ledger_kinds k ON k.number = t.kind
      JOIN ledger_postings p ON p.transaction_number = t.number
      JOIN ledger_accounts a ON a.number = p.account_number
      WHERE t.number BETWEEN $1 AND $2 AND t.id_high = $3 AND t.id_low = $4
      ORDER BY t.number, p.leg)",
                       first, first + (places - 1), parts.high, parts.low);
  std::optional<Recorded> found;
  while (rows.next()) {
    if (!found)
      found = Recorded{.id = id_of_parts(parts),
                       .kind = rows.text("kind"),
                       .memo = rows.text("memo"),
                       .at = time_of_number(rows.integer("number")),
                       .postings = {}};
    found->postings.push_back(
        {.account = {.kind = rows.text("account_kind"), .owner = rows.text("owner")},
         .amount = rows.integer("amount")});
  }
  return found;
}

}  // namespace berth::ledger
