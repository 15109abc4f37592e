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

}  // namespace

bool Model::move(const std::string& from, const std::string& to, std::int64_t amount) {
  if (balance(from) < amount) return false;
  balances[from] -= amount;
  balances[to] += amount;
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
  if (bonuses[today()] + amount > signup_daily) return;
  if (!move("treasury", user_account(id), amount)) return;
  bonuses[today()] += amount;
  user.free_points += amount;
}

Ending Model::spend(const std::string& app, const std::string& user, std::int64_t amount) {
  if (balance(user_account(user)) < amount) return "insufficient_balance";
  Grant& grant = grants.at({app, user});
  const std::int64_t spent = grant.day == today() ? grant.spent : 0;
  if (grant.limit && spent + amount > *grant.limit) return "spend_limit_reached";
  move(user_account(user), app_account(app), amount);
  grant.day = today();
  grant.spent = spent + amount;
  consider_referral(app, user, amount);
  return "ok";
}

void Model::consider_referral(const std::string& app, const std::string& id, std::int64_t amount) {
  User& user = users.at(id);
  const std::string& owner = apps.at(app).owner;
  if (user.referred_by.empty() || user.rewarded || owner == id || owner == user.referred_by) return;
  user.referral_spent += amount;
  if (!user.verified || user.referral_spent - user.free_points < referral_use) return;
  user.rewarded = reward(user.referred_by, "", referral) > 0;
}

Ending Model::transfer(const std::string& from, const std::string& to, std::int64_t amount) {
  if (from == to) return "validation_failed";
  return move(user_account(from), user_account(to), amount) ? "ok" : "insufficient_balance";
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
  if (!move("treasury", user_account(id), amount)) return 0;
  user.free_points += amount;
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

Ending Model::deploy(const std::string& app) {
  return move(app_account(app), "treasury", tier_cost) ? "ok" : "insufficient_balance";
}

Ending Model::order_campaign(const std::string& app, std::int64_t payment,
                             std::int64_t payout) const {
  if (payment * 9 / 10 < payout) return "validation_failed";
  return balance(app_account(app)) < payment ? "insufficient_balance" : "ok";
}

void Model::ordered(const std::string& id, const std::string& app, std::int64_t payment,
                    std::int64_t payout) {
  const std::int64_t budget = payment * 9 / 10;
  move(app_account(app), "campaign:" + id, budget);
  move(app_account(app), "treasury", payment - budget);
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
  move(app_account(id), "treasury", balance(app_account(id)));
  app.deleted = true;
  return "ok";
}

void Model::remove_user(const std::string& id) {
  move(user_account(id), "treasury", balance(user_account(id)));
  users.at(id).deleted = true;
}

}  // namespace berth::simulate
