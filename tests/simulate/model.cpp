#include "tests/simulate/model.h"

#include <algorithm>
#include <vector>

namespace berth::simulate {
namespace {

std::string user_account(const std::string& id) { return "user:" + id; }
std::string app_account(const std::string& id) { return "app:" + id; }
std::string held(const std::string& source) {
  return "reservation:" + source.substr(source.find(':') + 1);
}
// Of `of` points in `whole`, those in its first `points`.
std::int64_t first_part(std::int64_t of, std::int64_t points, std::int64_t whole) {
  __extension__ using Wide = __int128;
  return std::int64_t(Wide(of) * points / whole);
}

}  // namespace

bool Model::move(const std::string& from, const std::string& to, std::int64_t amount, Mark mark) {
  if (spendable(from) < amount) return false;
  // The treasury gets the bonus first, and others get it last.
  const bool first = to == "treasury" && mark != Mark::last;
  const std::int64_t moved = first ? std::min(bonus_of(from), amount) : bonus_in(from, amount);
  balances[from] -= amount;
  balances[to] += amount;
  if (moved > 0) bonus[from] -= moved;
  if (to != "treasury" && mark == Mark::reward)
    bonus[to] += amount;
  else if (to != "treasury" && moved > 0)
    bonus[to] += moved;
  return true;
}

std::int64_t Model::bonus_in(const std::string& account, std::int64_t amount) const {
  return std::max(bonus_of(account) - (balance(account) - amount), std::int64_t(0));
}

bool Model::reach(const std::string& id, std::int64_t points) {
  if (points == 0) return true;
  User& user = users.at(id);
  const bool is_open = user.bonus_since > now - 30 * day;
  const std::int64_t before = is_open ? user.bonus_received : 0;
  if (before + points > most_received) return false;
  user.bonus_received = before + points;
  if (!is_open) user.bonus_since = now;
  return true;
}

Ending Model::mint(const std::string& account, std::int64_t amount) {
  if (-balance("issuance") > most - amount) return "validation_failed";
  balances["issuance"] -= amount;
  balances[account] += amount;
  return "ok";
}

void Model::verify(const std::string& id) {
  User& user = users.at(id);
  if (user.verified) return;
  user.verified = true;
  const std::int64_t multiplier = user.number <= first_count   ? first_multiplier
                                  : user.number <= early_count ? early_multiplier
                                                               : 1;
  const std::int64_t amount = signup_points * multiplier;
  if (signups[today()] + amount > signup_daily) return;
  if (!move("treasury", user_account(id), amount,
            user.own_spent < own_use ? Mark::reward : Mark::kept))
    return;
  signups[today()] += amount;
}

Ending Model::spend(const std::string& app, const std::string& user, std::int64_t amount,
                    Spend& made) {
  if (balance(user_account(user)) < amount) return "insufficient_balance";
  const std::string& owner = apps.at(app).owner;
  const bool had_bonus = bonus_of(user_account(user)) > 0;
  const std::int64_t own = amount - bonus_in(user_account(user), amount);
  if (owner != user && !reach(owner, amount - own)) return "bonus_locked";
  Grant& grant = grants.at({app, user});
  const std::int64_t spent = grant.day == today() ? grant.spent : 0;
  if (grant.limit && spent + amount > *grant.limit) return "spend_limit_reached";
  move(user_account(user), app_account(app), amount);
  grant.day = today();
  grant.spent = spent + amount;
  made = {.user = user, .app = app, .amount = amount, .bonus = amount - own, .at = now};
  if (owner != user && had_bonus) {
    User& payer = users.at(user);
    const std::int64_t before = payer.own_spent;
    payer.own_spent = std::min(payer.own_spent + own, own_use);
    made.own_use = payer.own_spent - before;
    // Only who spends something of their own is looked at.
    if (own > 0 && payer.own_spent == own_use) bonus[user_account(user)] = 0;
  }
  made.referral = consider_referral(app, user, own);
  return "ok";
}

Ending Model::refund(const std::string& id, std::int64_t amount, Gift& made) {
  Spend& spend = spends.at(id);
  User& user = users.at(spend.user);
  if (now - spend.at > refund_days * day) return "invalid_state";
  if (user.deleted) return "invalid_state";
  if (amount > spend.amount - spend.refunded) return "refund_exceeds_spend";
  const std::int64_t after = spend.refunded + amount;
  const auto in_part = [&](std::int64_t of) {
    return first_part(of, after, spend.amount) - first_part(of, spend.refunded, spend.amount);
  };
  const std::int64_t counted =
      std::max(spend.own_use, user.rewarded ? std::min(spend.referral, referral_use) : 0);
  const std::int64_t marked = in_part(spend.bonus + counted);
  const std::string from = app_account(spend.app), to = user_account(spend.user);
  if (balance(from) < amount) return "insufficient_balance";
  User& owner = users.at(apps.at(spend.app).owner);
  if (owner.own_spent == own_use) {
    bonus[from] = 0;
  } else if (amount - marked > balance(from) - bonus_of(from)) {
    return "bonus_locked";
  }
  if (spendable(from) < amount) return "insufficient_balance";
  balances[from] -= amount;
  balances[to] += amount;
  bonus[from] -= std::min(bonus_of(from), marked);
  bonus[to] += marked;
  user.own_spent = std::max(user.own_spent - in_part(counted), std::int64_t(0));
  if (apps.at(spend.app).owner != spend.user)
    owner.bonus_received = std::max(owner.bonus_received - in_part(spend.bonus), std::int64_t(0));
  if (!user.rewarded)
    user.referral_spent = std::max(user.referral_spent - in_part(spend.referral), std::int64_t(0));
  spend.refunded = after;
  made = {.from = from, .to = to, .amount = amount, .bonus = marked};
  return "ok";
}

Ending Model::claw_back(const std::string& id, std::int64_t amount) {
  Gift& gift = gifts.at(id);
  if (amount > gift.amount - gift.taken_back) return "validation_failed";
  if (gift.from.empty()) {
    if (!move(gift.to, "treasury", amount)) return "insufficient_balance";
    gift.taken_back += amount;
    return "ok";
  }
  if (spendable(gift.to) < amount) return "insufficient_balance";
  const std::string to = apps.at(gift.from.substr(4)).deleted ? "treasury" : gift.from;
  const std::int64_t marked = first_part(gift.bonus, gift.taken_back + amount, gift.amount) -
                              first_part(gift.bonus, gift.taken_back, gift.amount);
  balances[gift.to] -= amount;
  balances[to] += amount;
  const std::int64_t unmarked = std::max(bonus_of(gift.to) - marked, std::int64_t(0));
  bonus[gift.to] = std::min(unmarked, balance(gift.to));
  if (to != "treasury") bonus[to] += marked;
  gift.taken_back += amount;
  return "ok";
}

std::int64_t Model::consider_referral(const std::string& app, const std::string& id,
                                      std::int64_t own) {
  User& user = users.at(id);
  const std::string& owner = apps.at(app).owner;
  if (user.referred_by.empty() || user.rewarded || owner == id || owner == user.referred_by)
    return 0;
  user.referral_spent += own;
  if (user.verified && user.referral_spent >= referral_use)
    user.rewarded = reward(user.referred_by, "", referral) > 0;
  return own;
}

Ending Model::transfer(const std::string& from, const std::string& to, std::int64_t amount) {
  if (from == to) return "validation_failed";
  if (balance(user_account(from)) < amount) return "insufficient_balance";
  if (!reach(to, bonus_in(user_account(from), amount))) return "bonus_locked";
  move(user_account(from), user_account(to), amount);
  return "ok";
}

bool Model::within_caps(const std::string& user, const std::string& owner,
                        std::int64_t amount) const {
  const auto room = [&](const std::string& subject, std::int64_t cap) {
    const auto found = given.find({subject, today()});
    return (found == given.end() ? 0 : found->second) + amount <= cap;
  };
  return room("user:" + user, user_daily) && room("total", total_daily) &&
         (owner.empty() || room("owner:" + owner, owner_daily));
}

std::int64_t Model::reward(const std::string& id, const std::string& owner, std::int64_t amount) {
  User& user = users.at(id);
  if (!user.verified || user.deleted || !within_caps(id, owner, amount)) return 0;
  if (!move("treasury", user_account(id), amount,
            user.own_spent < own_use ? Mark::reward : Mark::kept))
    return 0;
  given[{"user:" + id, today()}] += amount;
  given[{"total", today()}] += amount;
  if (!owner.empty()) given[{"owner:" + owner, today()}] += amount;
  return amount;
}

void Model::placed(const std::string& id, const std::string& source, std::int64_t amount,
                   std::int64_t life) {
  move(source, held(source), amount);
  holds[id] = {.source = source, .amount = amount, .expires_at = now + life};
}

bool Model::post(const std::string& id, const std::string& to) {
  Hold& hold = holds.at(id);
  if (!hold.open || hold.expires_at <= now) return false;
  hold.open = false;
  return move(held(hold.source), to, hold.amount);
}

bool Model::release(const std::string& id) {
  Hold& hold = holds.at(id);
  if (!hold.open) return false;
  hold.open = false;
  return move(held(hold.source), hold.source, hold.amount);
}

void Model::expire() {
  for (auto& [id, hold] : holds)
    if (hold.open && hold.expires_at <= now) release(id);
  for (auto& [token, impression] : impressions)
    if (impression.expires_at <= now) release_impression(impression);
}

Ending Model::deploy(const std::string& app, std::int64_t containers) {
  return move(app_account(app), "treasury", tier_cost * containers) ? "ok" : "insufficient_balance";
}

Ending Model::change_number(const std::string& app, const std::string& deployment,
                            std::int64_t containers) {
  App& state = apps.at(app);
  if (const auto paid = state.paid.find(deployment); paid != state.paid.end())
    return change_paid(app, paid->second, containers);
  return change_metered(app, state.metered.at(deployment), containers);
}

Ending Model::change_paid(const std::string& app, Paid& deployment, std::int64_t containers) {
  const std::int64_t before = deployment.containers;
  const std::int64_t end =
      deployment.created_at + ((now - deployment.created_at) / period + 1) * period;
  deployment.containers = containers;
  if (now >= deployment.paid_until) {
    if (!move(app_account(app), "treasury", tier_cost * containers)) return "insufficient_balance";
    deployment.rate = tier_cost * containers;
    deployment.paid_until = end;
    return "ok";
  }
  const std::int64_t rate = (deployment.rate * containers + before - 1) / before;
  const Wide difference = Wide(rate - deployment.rate) * (end - now);
  deployment.rate = rate;
  if (difference >= 0)
    return move(app_account(app), "treasury", std::int64_t((difference + period - 1) / period))
               ? "ok"
               : "insufficient_balance";
  const Mark mark = users.at(apps.at(app).owner).own_spent < own_use ? Mark::reward : Mark::kept;
  return move("treasury", app_account(app), std::int64_t(-difference / period), mark)
             ? "ok"
             : "unavailable";
}

Ending Model::change_metered(const std::string& app, Metered& deployment, std::int64_t containers) {
  const bool is_less = deployment.to_run && containers < deployment.containers;
  deployment.containers = containers;
  deployment.to_run = true;
  deployment.suspended = false;
  return is_less ? "ok" : admit(app, rate(apps.at(app)));
}

std::int64_t Model::spendable(const std::string& account) const {
  const bool is_app = account.starts_with("app:");
  return balance(account) - (is_app ? apps.at(account.substr(4)).held : 0);
}

void Model::count(Metered& deployment, std::int64_t to) const {
  for (auto& [pod, counted_to] : deployment.pods)
    while (counted_to < to) {
      const std::int64_t day_of = counted_to / day;
      const std::int64_t end = std::min((day_of + 1) * day, to);
      deployment.used[day_of] += end - counted_to;
      counted_to = end;
    }
}

Model::Wide Model::used(const App& app) const {
  Wide all = app.remainder;
  for (const auto& [id, deployment] : app.metered) {
    for (const auto& [day_of, time] : deployment.used) all += Wide(time) * hour_cost;
    for (const auto& [pod, counted_to] : deployment.pods) all += Wide(now - counted_to) * hour_cost;
  }
  return all;
}

std::int64_t Model::rate(const App& app) {
  std::int64_t points = 0;
  for (const auto& [id, deployment] : app.metered)
    points += hour_cost * std::max(deployment.to_run ? deployment.containers : 0,
                                   std::int64_t(deployment.pods.size()));
  return points;
}

Ending Model::deploy_metered(const std::string& app, std::int64_t containers) {
  return admit(app, rate(apps.at(app)) + hour_cost * containers);
}

Ending Model::admit(const std::string& id, std::int64_t rate_then) {
  App& app = apps.at(id);
  const Wide needed = (used(app) + hour - 1) / hour + rate_then;
  if (std::max(needed, Wide(app.held)) > balance(app_account(id))) return "insufficient_balance";
  app.held = std::max(std::int64_t(needed), app.held);
  return "ok";
}

void Model::destroy(const std::string& id, const std::string& deployment) {
  App& app = apps.at(id);
  app.deployments.erase(deployment);
  app.paid.erase(deployment);
  if (const auto found = app.metered.find(deployment); found != app.metered.end()) {
    found->second.to_run = false;
    found->second.suspended = false;
  }
}

void Model::begin_run(const std::string& app, const std::string& deployment,
                      const std::string& pod) {
  apps.at(app).metered.at(deployment).pods[pod] = now;
}

void Model::end_run(const std::string& app, const std::string& deployment, const std::string& pod) {
  Metered& state = apps.at(app).metered.at(deployment);
  // The others are counted later.
  std::map<std::string, std::int64_t> others = state.pods;
  others.erase(pod);
  std::erase_if(state.pods, [&](const auto& one) { return one.first != pod; });
  count(state, now);
  state.pods = std::move(others);
}

void Model::charge(const std::string& id, Charged what) {
  App& app = apps.at(id);
  std::map<std::int64_t, std::vector<std::string>> days;  // the deployments to charge
  for (const auto& [name, deployment] : app.metered)
    for (const auto& [day_of, time] : deployment.used)
      if (what == Charged::everything || day_of < today() ||
          (!deployment.to_run && deployment.pods.empty()))
        days[day_of].push_back(name);
  for (const auto& [day_of, names] : days) {
    Wide units = app.remainder;
    for (const std::string& name : names)
      units += Wide(app.metered.at(name).used.at(day_of)) * hour_cost;
    if (day_of == today() && units < hour) continue;
    for (const std::string& name : names) app.metered.at(name).used.erase(day_of);
    // Nothing of what the balance doesn't cover is charged later. What was carried here stays.
    const Wide covered = Wide(balance(app_account(id))) * hour;
    units = std::min(units, std::max(covered, Wide(app.remainder)));
    const auto points = std::int64_t(units / hour);
    app.remainder = std::int64_t(units % hour);
    app.held = std::max(app.held - points, std::int64_t(0));
    if (points > 0) move(app_account(id), "treasury", points);
  }
}

void Model::look_at(const std::string& id) {
  App& app = apps.at(id);
  for (auto& [name, deployment] : app.metered)
    count(deployment, std::min(today() * day, now - 2'000));
  charge(id, Charged::what_is_due);
  const std::int64_t points = balance(app_account(id));
  const Wide owed = used(app);
  if (rate(app) > 0 && Wide(points) * hour <= owed) {
    app.held = points;
    for (auto& [name, deployment] : app.metered)
      if (deployment.to_run) {
        deployment.to_run = false;
        deployment.suspended = true;
      }
    return;
  }
  // The rest of a point is held only while something goes on.
  const Wide target = (rate(app) > 0 ? owed + hour - 1 : owed) / hour + rate(app);
  const Wide spare = Wide(app.held) * hour - owed;
  if (app.held > target || spare <= Wide(rate(app)) * (hour / 6))
    app.held = std::int64_t(std::min(target, Wide(points)));
}

Ending Model::order_campaign(const std::string& app, std::int64_t payment,
                             std::int64_t payout) const {
  if (payment * 9 / 10 < payout) return "validation_failed";
  if (balance(app_account(app)) < payment) return "insufficient_balance";
  if (!may_pay_campaign(app, payment)) return "bonus_locked";
  return spendable(app_account(app)) < payment ? "insufficient_balance" : "ok";
}

bool Model::may_pay_campaign(const std::string& app, std::int64_t payment) const {
  return users.at(apps.at(app).owner).own_spent == own_use ||
         bonus_in(app_account(app), payment) == 0;
}

void Model::ordered(const std::string& id, const std::string& app, std::int64_t payment,
                    std::int64_t payout) {
  const std::int64_t budget = payment * 9 / 10;
  if (users.at(apps.at(app).owner).own_spent == own_use) bonus[app_account(app)] = 0;
  move(app_account(app), "campaign:" + id, budget, Mark::last);
  move(app_account(app), "treasury", payment - budget, Mark::last);
  campaigns[id] = {.app = app, .payout = payout, .rake = payment - budget};
}

bool Model::can_serve(const std::string& id) const {
  const auto campaign = campaigns.find(id);
  return campaign != campaigns.end() && campaign->second.live &&
         balance("campaign:" + id) >= campaign->second.payout;
}

void Model::served(const std::string& token, const Impression& impression) {
  const std::string source = "campaign:" + impression.campaign;
  move(source, held(source), campaigns.at(impression.campaign).payout);
  impressions[token] = impression;
}

void Model::release_impression(Impression& impression) {
  if (!impression.reserved) return;
  impression.reserved = false;
  const std::string source = "campaign:" + impression.campaign;
  move(held(source), source, campaigns.at(impression.campaign).payout);
}

void Model::reward_viewer(Campaign& campaign, const Impression& impression) {
  const std::string& owner = apps.at(impression.app).owner;
  if (owner == apps.at(campaign.app).owner || campaign.rewards + viewer_reward > campaign.rake)
    return;
  campaign.rewards += reward(impression.user, owner, viewer_reward);
}

Ending Model::report(const std::string& token) {
  Impression& impression = impressions.at(token);
  Campaign& campaign = campaigns.at(impression.campaign);
  if (impression.used) return "replayed";
  if (!campaign.live) return "campaign_not_active";
  if (impression.expires_at <= now) return "expired";
  impression.used = true;
  impression.reserved = false;
  const std::string source = "campaign:" + impression.campaign;
  move(held(source), app_account(impression.app), campaign.payout);
  campaign.spent += campaign.payout;
  if (balance(source) + balance(held(source)) < campaign.payout) cancel(impression.campaign);
  reward_viewer(campaign, impression);
  return "paid";
}

std::int64_t Model::cancel(const std::string& id) {
  Campaign& campaign = campaigns.at(id);
  campaign.live = false;
  for (auto& [token, impression] : impressions)
    if (impression.campaign == id) release_impression(impression);
  const std::int64_t left = balance("campaign:" + id);
  move("campaign:" + id, app_account(campaign.app), left);
  return left;
}

Ending Model::remove_app(const std::string& id) {
  App& app = apps.at(id);
  if (!app.deployments.empty()) return "invalid_state";
  for (const auto& [name, campaign] : campaigns)
    if (campaign.app == id && campaign.live) return "invalid_state";
  for (auto& [hold, held_by] : holds)
    if (held_by.source == app_account(id)) release(hold);
  for (auto& [deployment, state] : app.metered) count(state, now);
  charge(id, Charged::everything);
  app.held = 0;
  move(app_account(id), "treasury", balance(app_account(id)));
  app.deleted = true;
  return "ok";
}

void Model::remove_user(const std::string& id) {
  move(user_account(id), "treasury", balance(user_account(id)));
  users.at(id).deleted = true;
}

}  // namespace berth::simulate
