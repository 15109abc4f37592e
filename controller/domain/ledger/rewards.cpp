#include "controller/domain/ledger/rewards.h"

#include <atomic>
#include <map>

#include "controller/base/log.h"

namespace berth::rewards {
namespace {

std::atomic<std::uint64_t> refused_when_empty = 0;
std::atomic<bool> is_empty = false;

void note_empty(const Reward& reward) {
  ++refused_when_empty;
  if (!is_empty.exchange(true))
    log::warning("the treasury is empty: no rewards are paid until it receives points",
                 {{"reward", to_string(reward.kind)}, {"points", reward.amount}});
}

void note_paid() {
  if (is_empty.exchange(false)) log::info("the treasury pays rewards again");
}

ledger::Mark mark_for(std::int64_t own_spent) {
  return own_spent < own_use ? ledger::Mark::bonus : ledger::Mark::kept;
}

// Whether the user's balance can take the amount.
bool has_room(const Reward& reward, std::int64_t balance) {
  return reward.amount <= ledger::max_points - balance;
}

// Returns false if the treasury has too few points.
bool move_points(db::Tx& tx, const Reward& reward, ledger::Mark mark) {
  const auto paid = ledger::post(tx, {.kind = to_string(reward.kind),
                                      .from = ledger::treasury(),
                                      .to = ledger::user_account(reward.user_id),
                                      .amount = reward.amount,
                                      .memo = reward.memo,
                                      .mark = mark});
  if (!paid) {
    note_empty(reward);
    return false;
  }
  note_paid();
  tx.execute_later(R"(
      UPDATE users
      SET free_points = CASE WHEN free_points + $2 < $3 THEN free_points + $2 ELSE $3 END
      WHERE id = $1)",
                   reward.user_id, reward.amount, ledger::max_points);
  return true;
}

}  // namespace

ledger::Mark mark_of_gift(db::Tx& tx, const std::string& user_id) {
  return mark_for(tx.number(R"(SELECT own_spent FROM users WHERE id = $1)", user_id));
}

bool give(db::Tx& tx, const Reward& reward) {
  const ledger::Account account = ledger::user_account(reward.user_id);
  if (reward.amount < 1 || !has_room(reward, ledger::balance(tx, account))) return false;
  return move_points(tx, reward, mark_of_gift(tx, reward.user_id));
}

std::vector<Due::Cap> Due::caps_of(const Rules& rules, const Reward& reward) {
  std::vector<Cap> all = {{"user:" + reward.user_id, rules.user_daily, Refusal::user_cap},
                          {"total", rules.total_daily, Refusal::total_cap}};
  if (reward.app_owner_id)
    all.push_back({"owner:" + *reward.app_owner_id, rules.owner_daily, Refusal::owner_cap});
  return all;
}

Due::Due(db::Tx& tx, const Rules& rules, const Reward& reward)
    : tx_(tx),
      reward_(reward),
      caps_(caps_of(rules, reward)),
      user_(tx.query_later(R"(
          SELECT own_spent
          FROM users
          WHERE id = $1 AND email_verified_at IS NOT NULL AND deleted_at IS NULL)",
                           reward.user_id)),
      balance_(ledger::balance_later(tx, ledger::user_account(reward.user_id))),
      given_(tx.query_later(R"(
          SELECT subject, points
          FROM reward_days
          WHERE subject IN ($1, $2, $3) AND day = $4)",
                            caps_.at(0).subject, caps_.at(1).subject, caps_.back().subject,
                            utc_day(tx.now()))) {}

// Returns the refusal of the first cap that leaves no room.
Refusal Due::refused_by_caps() {
  std::map<std::string, std::int64_t> given;
  while (given_.next()) given[given_.text("subject")] = given_.integer("points");
  for (const Cap& cap : caps_)
    if (reward_.amount > cap.most - given[cap.subject]) return cap.refusal;
  return Refusal::none;
}

// Other rewards may have been counted since the caps were read; then the write runs again.
void Due::count() {
  for (const Cap& cap : caps_)
    tx_.require_change(R"(
        INSERT INTO reward_days (subject, day, points)
        VALUES ($1, $2, $3)
        ON CONFLICT (subject, day)
        DO UPDATE SET points = reward_days.points + excluded.points
        WHERE reward_days.points + excluded.points <= $4)",
                       cap.subject, utc_day(tx_.now()), reward_.amount, cap.most);
}

Outcome Due::pay() {
  if (reward_.amount < 1) return {.refusal = Refusal::nothing_due};
  if (!user_.next()) return {.refusal = Refusal::email_not_verified};
  const std::int64_t balance = balance_.next() ? balance_.integer("points") : 0;
  if (!has_room(reward_, balance)) return {.refusal = Refusal::user_cap};
  if (const Refusal refusal = refused_by_caps(); refusal != Refusal::none)
    return {.refusal = refusal};
  if (!move_points(tx_, reward_, mark_for(user_.integer("own_spent"))))
    return {.refusal = Refusal::treasury_empty};
  count();
  return {.points = reward_.amount};
}

Outcome pay(db::Tx& tx, const Rules& rules, const Reward& reward) {
  return Due(tx, rules, reward).pay();
}

std::uint64_t refused_for_empty_treasury() { return refused_when_empty; }

bool is_any_old(db::Tx& tx) {
  return tx.number(R"(SELECT 1 FROM reward_days WHERE day < $1 LIMIT 1)", utc_day(tx.now()) - 1) >
         0;
}

int remove_old(db::Tx& tx, int limit) {
  return tx.execute(
      R"(
      DELETE FROM reward_days
      WHERE (subject, day) IN (SELECT subject, day FROM reward_days WHERE day < $1 LIMIT $2))",
      utc_day(tx.now()) - 1, limit);
}

}  // namespace berth::rewards
