// The platform's ledger for administrators: minting points, the treasury, and the audit of all
// entries.
#include "api/gate/day_window.h"
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/running_audit.h"

namespace berth::api {
namespace {

ledger::Account decode_account(db::Tx& tx, const json& account) {
  const std::string kind = account.at("kind");
  if (kind == "treasury") return ledger::treasury();
  const auto id = text_or_nothing(account, "id");
  if (!id) throw invalid_field("account.id", "is required");
  if (kind == "user") {
    if (!accounts::find(tx, *id)) throw Error(Code::user_not_found, "there is no such user");
    return ledger::user_account(*id);
  }
  if (!apps::find(tx, *id)) throw Error(Code::app_not_found, "there is no such app");
  return ledger::app_account(*id);
}

Reply mint(db::Tx& tx, const Call& call, const Services&) {
  const ledger::Account account = decode_account(tx, call.body.at("account"));
  const std::int64_t amount = call.body.at("amount");
  const std::string reason = call.body.at("reason");
  const std::string transaction = ledger::mint(tx, account, amount, reason);
  audit::record(tx, call.admin, "points.mint", account.id(),
                json{{"amount", amount}, {"reason", reason}}.dump());
  return {.status = 201,
          .body = {{"transaction_id", transaction}, {"balance", ledger::balance(tx, account)}}};
}

Reply treasury(db::Tx& tx, const Call&, const Services&) {
  return {.body = {{"balance", ledger::balance(tx, ledger::treasury())},
                   {"minted", -ledger::balance(tx, ledger::issuance())}}};
}

Reply treasury_days(db::Tx& tx, const Call& call, const Services&) {
  const DayWindow window = day_window(call, tx.now(), ledger::max_history_days);
  const auto days_of = [&](const ledger::Account& account) {
    return ledger::history(tx, account, window.first, window.last);
  };
  const std::vector<ledger::Day> issued = days_of(ledger::issuance());
  json days = json::array();
  for (const ledger::Day& day : days_of(ledger::treasury())) {
    const ledger::Day& issuance = issued.at(days.size());
    days.push_back({{"date", utc_date(day.day)},
                    {"balance", day.balance},
                    {"received", day.credited},
                    {"given", day.debited},
                    {"supply", -issuance.balance},
                    {"minted", issuance.debited},
                    {"kinds", json::array()}});
  }
  for (const auto& one : ledger::kinds(tx, ledger::treasury(), window.first, window.last))
    days.at(size_t(one.day - window.first))["kinds"].push_back({{"kind", one.kind},
                                                                {"movements", one.sum.postings},
                                                                {"received", one.sum.credited},
                                                                {"given", one.sum.debited}});
  return {.body = {{"days", std::move(days)}}};
}

Reply ledger_audit(db::Tx& tx, const Call&, const Services&) {
  bool ok = true;
  json checks = json::array();
  for (const ledger::Check& check : ledger::running_audit(tx)) {
    ok = ok && check.ok;
    checks.push_back({{"name", check.name}, {"ok", check.ok}, {"detail", check.detail}});
  }
  return {.body = {{"ok", ok}, {"checks", std::move(checks)}}};
}

constexpr Route rows[] = {
    {.request = "POST /api/internal/points/mint",
     .name = "mint",
     .tag = "Internal",
     .summary = "Mint points",
     .text = "Creates points and credits them to the treasury, a user or an app. The reason is "
             "kept in the audit log.",
     .guards = admins_and_finance,
     .stores = Stores::administration,
     .body = {"MintRequest"},
     .answer = {201, "MintResult"},
     .errors = {Code::user_not_found, Code::app_not_found},
     .idempotency = Idempotency::kept,
     .served_by = {"berth admin mint", "/console/admin"},
     .run = WriteHandler{mint}},
    {.request = "GET /api/internal/treasury",
     .name = "treasury",
     .tag = "Internal",
     .summary = "Show the treasury's balance",
     .text = "Returns what the treasury has, and how many points exist in all.",
     .guards = every_admin,
     .answer = {200, "Treasury"},
     .served_by = {"berth admin treasury", "/console/admin"},
     .run = ReadHandler{treasury}},
    {.request = "GET /api/internal/treasury/days",
     .name = "treasuryDays",
     .tag = "Internal",
     .summary = "Show the treasury and the supply of points by UTC day",
     .text = "Returns the treasury's balance, the supply and the rewards for each UTC day of a "
             "window of at most 366 days; by default the last 30 days.",
     .guards = every_admin,
     .query = day_window_query,
     .answer = {200, "TreasuryDays"},
     .errors = {Code::validation_failed},
     .served_by = {.page = "/console/admin"},
     .run = ReadHandler{treasury_days}},
    {.request = "GET /api/internal/ledger/audit",
     .name = "ledgerAudit",
     .tag = "Internal",
     .summary = "Check the ledger: new rows now, old rows by the checks in the background",
     .text = "Checks what is new in the ledger now, and returns what the checks in the background "
             "found in what is older.",
     .guards = every_admin,
     .answer = {200, "LedgerAudit"},
     .readers = db::Readers::heavy,
     .served_by = {"berth admin ledger", "/console/admin"},
     .run = ReadHandler{ledger_audit}},
};

}  // namespace

std::span<const Route> ledger_routes() { return rows; }

}  // namespace berth::api
