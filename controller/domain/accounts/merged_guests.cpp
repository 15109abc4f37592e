#include "controller/domain/accounts/merged_guests.h"

#include "controller/domain/ledger/ledger.h"

namespace berth::guests {
namespace {

std::vector<std::string> ids_in(db::Query rows) {
  std::vector<std::string> ids;
  while (rows.next()) ids.push_back(rows.text("id"));
  return ids;
}

}  // namespace

void set_merged_into(db::Tx& tx, const std::string& guest_id, const std::string& account_id) {
  tx.require_change(R"(
      UPDATE users
      SET merged_into = $2
      WHERE id = $1
        AND guest_of IS NOT NULL
        AND deleted_at IS NOT NULL
        AND merged_into IS NULL)",
                    guest_id, account_id);
}

std::string account_of(db::Tx& tx, const std::string& id) {
  auto rows = tx.query(R"(SELECT merged_into FROM users WHERE id = $1)", id);
  return rows.next() ? rows.text_or_null("merged_into").value_or(id) : id;
}

std::vector<std::string> merged_into(db::Tx& tx, const std::string& account_id) {
  return ids_in(tx.query(R"(
      SELECT id
      FROM users
      WHERE merged_into = $1
      ORDER BY guest_of, id)",
                         account_id));
}

std::vector<std::string> merged_into(db::Tx& tx, const std::string& account_id,
                                     const std::string& app_id) {
  return ids_in(tx.query(R"(
      SELECT id
      FROM users
      WHERE merged_into = $1 AND guest_of = $2
      ORDER BY id)",
                         account_id, app_id));
}

void pass_on_points(db::Tx& tx, const std::string& id) {
  const std::string account_id = account_of(tx, id);
  if (account_id == id) return;
  const ledger::Account guest = ledger::user_account(id);
  const std::int64_t points = ledger::balance(tx, guest);
  if (points < 1) return;
  const ledger::Account account = ledger::user_account(account_id);
  ledger::open_account(tx, account);
  ledger::post(tx, {.kind = merge_kind,
                    .from = guest,
                    .to = account,
                    .amount = points,
                    .memo = "the points of a guest"});
}

bool fetch_points(db::Tx& tx, const std::string& id, std::int64_t points) {
  const std::string account_id = account_of(tx, id);
  if (account_id == id) return true;
  return ledger::post(tx, {.kind = merge_kind,
                           .from = ledger::user_account(account_id),
                           .to = ledger::user_account(id),
                           .amount = points,
                           .memo = "taken back from a guest"})
      .has_value();
}

}  // namespace berth::guests
