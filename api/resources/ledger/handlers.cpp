// The ledger, for the platform's administrators.
#include "api/resources/ledger/handlers.h"

#include "api/gate/day_window.h"
#include "api/gate/encode.h"
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

}  // namespace

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

}  // namespace berth::api
