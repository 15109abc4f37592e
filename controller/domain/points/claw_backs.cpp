#include "controller/domain/points/claw_backs.h"

#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/domain/accounts/merged_guests.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/numbers.h"
#include "controller/domain/points/refunds.h"

namespace berth::points {
namespace {

struct Found {
  Given given;
  ledger::Account from;  // where the points came from
  bool is_refund = false;
};

// The transaction is found by the time in its id (ledger/numbers.h). One with several movements
// isn't a gift to one account.
std::optional<Found> find(db::Tx& tx, const std::string& transaction_id) {
  const ledger::IdParts id = ledger::parts_of_id(transaction_id);
  const std::int64_t first = ledger::first_number(ledger::time_of_id(id));
  Found found;
  {
    auto rows = tx.query(R"(
        SELECT k.kind AS kind, p.amount, a.kind AS to_kind, a.owner AS to_owner,
               o.kind AS from_kind, o.owner AS from_owner
        FROM ledger_transactions t
        JOIN ledger_kinds k ON k.number = t.kind
        JOIN ledger_postings p ON p.transaction_number = t.number AND p.amount > 0
        JOIN ledger_accounts a ON a.number = p.account_number
        JOIN ledger_postings q ON q.transaction_number = t.number AND q.amount < 0
        JOIN ledger_accounts o ON o.number = q.account_number
        WHERE t.number BETWEEN $1 AND $2 AND t.id_high = $3 AND t.id_low = $4)",
                         first, first + (ledger::places - 1), id.high, id.low);
    if (!rows.next()) return std::nullopt;
    found = {.given = {.transaction_id = ledger::id_of_parts(id),
                       .account_kind = rows.text("to_kind"),
                       .owner = rows.text("to_owner"),
                       .amount = rows.integer("amount")},
             .from = {.kind = rows.text("from_kind"), .owner = rows.text("from_owner")},
             .is_refund = rows.text("kind") == "refund"};
    if (rows.next()) return std::nullopt;
  }
  const bool is_theirs = found.given.account_kind == "user" || found.given.account_kind == "app";
  const bool is_gift = found.from.kind == "treasury" || found.from.kind == "issuance";
  if (!is_theirs || !(is_gift || found.is_refund)) return std::nullopt;
  found.given.taken_back = tx.number(R"(
      SELECT coalesce(sum(amount), 0)
      FROM claw_backs
      WHERE transaction_id = $1)",
                                     found.given.transaction_id);
  return found;
}

ledger::Account target_of(db::Tx& tx, const Found& found) {
  const bool is_gone = found.from.kind == "app" && !apps::find(tx, found.from.owner);
  return found.from.kind == "issuance" || is_gone ? ledger::treasury() : found.from;
}

// How many of the next `amount` points of a refund came back as a bonus.
std::optional<std::int64_t> bonus_of(db::Tx& tx, const Found& found, std::int64_t amount) {
  if (!found.is_refund) return std::nullopt;
  const std::int64_t bonus =
      tx.number(R"(SELECT bonus FROM refunds WHERE id = $1)", found.given.transaction_id);
  const std::int64_t before = found.given.taken_back;
  return share(bonus, before + amount, found.given.amount) -
         share(bonus, before, found.given.amount);
}

}  // namespace

std::optional<Given> find_given(db::Tx& tx, const std::string& transaction_id) {
  const auto found = find(tx, transaction_id);
  return found ? std::optional(found->given) : std::nullopt;
}

ClawBack claw_back(db::Tx& tx, const ClawBackOrder& order) {
  tx.require_serializable();
  const auto found = find(tx, order.transaction_id);
  if (!found)
    throw Error(Code::not_found,
                "there is no such transaction that gave a user or an app points of the treasury, "
                "minted points, or points of a spend back");
  const Given& given = found->given;
  const std::int64_t left = given.amount - given.taken_back;
  if (order.amount > left)
    throw invalid_field("amount", "must be at most " + std::to_string(left) +
                                      ", which is left of the transaction to take back");
  const ledger::Account account = {.kind = given.account_kind, .owner = given.owner};
  ledger::open_account(tx, ledger::treasury());
  // What a guest had is on the account that they were merged into.
  const bool is_there =
      given.account_kind != "user" || guests::fetch_points(tx, given.owner, order.amount);
  const auto id = is_there
                      ? ledger::post(tx, {.kind = "claw_back",
                                          .from = account,
                                          .to = target_of(tx, *found),
                                          .amount = order.amount,
                                          .memo = order.reason,
                                          .bonus_given_back = bonus_of(tx, *found, order.amount)})
                      : std::nullopt;
  if (!id)
    throw Error(Code::insufficient_balance,
                "the account has fewer than the " + std::to_string(order.amount) +
                    " points that would be taken back" + ledger::words_for_held(tx, account));
  tx.execute(R"(
      INSERT INTO claw_backs (id, transaction_id, amount, inserted_at)
      VALUES ($1, $2, $3, $4))",
             *id, given.transaction_id, order.amount, tx.now());
  // The reason may be about the user, so it is erased with them (audit::erase_details).
  audit::record(tx, order.admin, "points.claw_back", given.owner,
                nlohmann::json{{"transaction_id", given.transaction_id},
                               {"amount", order.amount},
                               {"reason", order.reason}}
                    .dump());
  return {.id = *id,
          .transaction_id = given.transaction_id,
          .amount = order.amount,
          .taken_back = given.taken_back + order.amount,
          .left = left - order.amount,
          .at = tx.now()};
}

}  // namespace berth::points
