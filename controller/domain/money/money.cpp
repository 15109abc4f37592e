#include "controller/domain/money/money.h"

#include <algorithm>
#include <map>
#include <queue>

#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/holds.h"
#include "controller/domain/points/points.h"

namespace berth::money {
namespace {

constexpr std::string_view prefix_of_apps = "app:";

std::vector<KindSum> kind_sums(db::Tx& tx, const ledger::Account& account, std::int64_t first,
                               std::int64_t last) {
  std::vector<KindSum> all;
  for (const auto& [kind, sum] : ledger::sums_of_kinds(tx, account, first, last))
    all.push_back(
        {.kind = kind, .movements = sum.postings, .in = sum.credited, .out = sum.debited});
  return all;
}

Forecast forecast_of(db::Tx& tx, const ledger::Account& account, std::int64_t balance,
                     std::int64_t today) {
  std::int64_t in = 0, out = 0;
  for (const ledger::Day& day : ledger::history(tx, account, today - forecast_days, today - 1)) {
    in += day.credited;
    out += day.debited;
  }
  return forecast(balance, forecast_days, in, out);
}

std::vector<Charge> next_charges(db::Tx& tx, const std::string& app_id) {
  std::vector<Charge> all;
  for (const billing::Renewal& one : billing::next_renewals(tx, app_id))
    all.push_back(
        {.deployment_id = one.deployment_id, .name = one.name, .amount = one.price, .at = one.at});
  return all;
}

void add_movers(db::Tx& tx, OfPlatform& sums, std::int64_t first, std::int64_t last) {
  std::map<std::string, Mover> by_account;
  sums.complete =
      ledger::each_account_day(tx, first, last, most_rows, [&](const ledger::AccountDay& day) {
        if (!day.account_id.starts_with(prefix_of_apps)) return;
        Mover& mover = by_account[day.account_id];
        mover.in += day.credited;
        mover.out += day.debited;
      });
  for (auto& [account, mover] : by_account) {
    mover.app_id = account.substr(prefix_of_apps.size());
    sums.movers.push_back(std::move(mover));
  }
  std::ranges::sort(sums.movers, std::greater(),
                    [](const Mover& mover) { return mover.in + mover.out; });
  if (sums.movers.size() > max_movers) sums.movers.resize(max_movers);
  for (Mover& mover : sums.movers)
    if (const auto app = apps::find(tx, mover.app_id)) mover.name = app->app_name;
}

}  // namespace

std::int64_t held(db::Tx& tx, const ledger::Account& account) {
  return ledger::balance(tx, ledger::reservation_account(account)) + ledger::held(tx, account);
}

std::int64_t held_in_all(db::Tx& tx) { return holds::sum_open(tx) + metering::held_in_total(tx); }

Forecast forecast(std::int64_t balance, std::int64_t days, std::int64_t in, std::int64_t out) {
  Forecast result = {.days = days, .in = in, .out = out};
  if (out <= in) return result;
  __extension__ using Wide = __int128;  // the product has up to 63 bits and some days more
  result.days_left = static_cast<std::int64_t>(Wide(balance) * days / (out - in));
  return result;
}

Charges charges(std::int64_t balance, const std::vector<Charge>& first, Instant now) {
  const auto later = [](const Charge& a, const Charge& b) { return a.at > b.at; };
  std::priority_queue<Charge, std::vector<Charge>, decltype(later)> coming(later, first);
  Charges result;
  if (!coming.empty()) result.next = coming.top();
  while (!coming.empty() && coming.top().at <= now + charges_looked_ahead) {
    Charge charge = coming.top();
    coming.pop();
    if (charge.amount > balance) {
      result.first_unpaid = std::move(charge);
      return result;
    }
    balance -= charge.amount;
    charge.at += billing::period_length;
    coming.push(std::move(charge));
  }
  return result;
}

OfApp of_app(db::Tx& tx, const std::string& app_id, int days) {
  const ledger::Account account = ledger::app_account(app_id);
  const std::int64_t today = utc_day(tx.now());
  OfApp sums = {.balance = ledger::balance(tx, account),
                .held = money::held(tx, account),
                .kinds = kind_sums(tx, account, today - days + 1, today),
                .forecast = {},
                .charges = {}};
  for (const KindSum& one : sums.kinds) {
    sums.earned += points::earned_by(
        {.day = today,
         .kind = one.kind,
         .sum = {.postings = one.movements, .credited = one.in, .debited = one.out}});
    if (one.kind != "refund") sums.spent += one.out;
  }
  sums.forecast = forecast_of(tx, account, sums.balance, today);
  sums.charges = charges(ledger::spendable(tx, account), next_charges(tx, app_id), tx.now());
  return sums;
}

OfPlatform of_platform(db::Tx& tx, int days) {
  const std::int64_t today = utc_day(tx.now());
  const std::int64_t first = today - days + 1;
  OfPlatform sums = {.supply = -ledger::balance(tx, ledger::issuance()),
                     .treasury = ledger::balance(tx, ledger::treasury()),
                     .held = held_in_all(tx),
                     .treasury_kinds = kind_sums(tx, ledger::treasury(), first, today),
                     .movers = {}};
  sums.owed = sums.supply - sums.treasury;
  sums.supply_before = -ledger::history(tx, ledger::issuance(), first - 1, first - 1).at(0).balance;
  sums.owed_before = sums.supply_before -
                     ledger::history(tx, ledger::treasury(), first - 1, first - 1).at(0).balance;
  sums.issued = sums.supply - sums.supply_before;
  add_movers(tx, sums, first, today);
  return sums;
}

}  // namespace berth::money
