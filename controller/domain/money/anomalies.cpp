#include "controller/domain/money/anomalies.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "controller/domain/accounts/accounts.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/ads/analytics.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/money/money.h"
#include "controller/domain/points/refunds.h"

namespace berth::money {
namespace {

constexpr std::string_view app_prefix = "app:";  // of the ids of accounts

std::optional<std::string> name_of(db::Tx& tx, const std::optional<std::string>& app_id) {
  const auto app = app_id ? apps::find(tx, *app_id) : std::nullopt;
  return app ? std::optional(app->app_name) : std::nullopt;
}

void add(std::vector<Anomaly>& all, db::Tx& tx, std::vector<Anomaly> found) {
  std::ranges::sort(found, std::greater(), &Anomaly::value);
  if (found.size() > max_anomalies) found.resize(max_anomalies);
  for (Anomaly& one : found) {
    one.name = name_of(tx, one.app_id);
    all.push_back(std::move(one));
  }
}

std::vector<Anomaly> farming(db::Tx& tx) {
  struct Gathered {
    std::set<std::string> accounts;
    std::int64_t points = 0;
  };
  std::map<std::string, Gathered> by_app;
  for (const points::BonusSpend& spend : points::newest_bonus_spends(
           tx, tx.now() - std::chrono::days(farming_days), farming_spends_read)) {
    const auto user = accounts::find(tx, spend.user_id);
    if (!user || spend.at - user->created_at > new_account_age) continue;
    Gathered& gathered = by_app[spend.app_id];
    gathered.accounts.insert(spend.user_id);
    gathered.points += spend.bonus;
  }
  std::vector<Anomaly> found;
  for (const auto& [app_id, gathered] : by_app)
    if (std::int64_t(gathered.accounts.size()) >= farming_accounts &&
        gathered.points >= farming_points)
      found.push_back({.rule = Rule::farming,
                       .app_id = app_id,
                       .name = {},
                       .value = gathered.points,
                       .usual = farming_points,
                       .day = utc_day(tx.now())});
  return found;
}

// The days that are looked at, and those before them that say what is usual.
constexpr std::int64_t outflow_looked_at = 2;
constexpr size_t outflow_read = size_t(outflow_days + outflow_looked_at);
using Outflow = std::array<std::int64_t, outflow_read>;  // by day, the last one is today

std::vector<Anomaly> sudden_outflow(db::Tx& tx) {
  const std::int64_t today = utc_day(tx.now());
  const std::int64_t first = today - std::int64_t(outflow_read) + 1;
  std::map<std::string, Outflow> by_account;
  ledger::each_account_day(tx, first, today, most_rows, [&](const ledger::AccountDay& day) {
    if (day.account_id != "treasury" && !day.account_id.starts_with(app_prefix)) return;
    const auto [entry, is_new] = by_account.try_emplace(day.account_id);
    if (is_new) entry->second.fill(0);
    entry->second.at(size_t(day.day - first)) += day.debited;
  });
  std::vector<Anomaly> found;
  for (const auto& [account, out] : by_account)
    for (size_t at = size_t(outflow_days); at < outflow_read; ++at) {
      const auto end = out.begin() + std::ptrdiff_t(at);
      const std::int64_t usual = median({end - outflow_days, end});
      const std::int64_t least = std::max(outflow_floor, usual > ledger::max_points / outflow_factor
                                                             ? ledger::max_points
                                                             : usual * outflow_factor + 1);
      if (out.at(at) < least) continue;
      found.push_back({.rule = Rule::sudden_outflow,
                       .app_id = account == "treasury"
                                     ? std::nullopt
                                     : std::optional(account.substr(app_prefix.size())),
                       .name = {},
                       .value = out.at(at),
                       .usual = least,
                       .day = first + std::int64_t(at)});
    }
  return found;
}

std::vector<Anomaly> self_clicking(db::Tx& tx) {
  std::map<std::string, std::optional<apps::App>> known;
  std::map<std::string, std::int64_t> by_app;
  size_t compared = 0;
  for (const ads::Viewer& viewer :
       ads::viewers_since(tx, tx.now() - self_clicking_window, ad_events_read)) {
    const auto [app, is_new] = known.try_emplace(viewer.app_id);
    if (is_new) app->second = apps::find(tx, viewer.app_id);
    if (!app->second) continue;
    const std::string& owner = app->second->owner_id;
    const bool is_owner = viewer.user_id == owner;
    if (!is_owner && ++compared > viewers_compared) continue;
    if (is_owner || accounts::share_network(tx, viewer.user_id, owner))
      by_app[viewer.app_id] += viewer.events;
  }
  std::vector<Anomaly> found;
  for (const auto& [app_id, events] : by_app)
    if (events >= self_clicking_events)
      found.push_back({.rule = Rule::self_clicking,
                       .app_id = app_id,
                       .name = {},
                       .value = events,
                       .usual = self_clicking_events,
                       .day = utc_day(tx.now())});
  return found;
}

}  // namespace

std::int64_t median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ptrdiff_t((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::vector<Anomaly> anomalies(db::Tx& tx) {
  std::vector<Anomaly> all;
  add(all, tx, farming(tx));
  add(all, tx, sudden_outflow(tx));
  add(all, tx, self_clicking(tx));
  return all;
}

}  // namespace berth::money
