#include "controller/domain/ledger/rewards.h"

#include <atomic>

#include "controller/base/log.h"

namespace berth::rewards {
namespace {

std::atomic<std::uint64_t> refused_when_empty = 0;
std::atomic<bool> is_empty = false;

struct Cap {
  std::string subject;
  std::int64_t most;
  Refusal refusal;
};

std::vector<Cap> caps(const Rules& rules, const Reward& reward) {
  std::vector<Cap> all = {{"user:" + reward.user_id, rules.user_daily, Refusal::user_cap},
                          {"total", rules.total_daily, Refusal::total_cap}};
  if (reward.app_owner_id)
    all.push_back({"owner:" + *reward.app_owner_id, rules.owner_daily, Refusal::owner_cap});
  return all;
}

Refusal refused_by_caps(db::Tx& tx, const std::vector<Cap>& all, std::int64_t amount) {
  for (const Cap& cap : all) {
    const std::int64_t given = tx.number(R"(
        SELECT points
        FROM reward_days
        WHERE subject = $1 AND day = $2)",
                                         cap.subject, utc_day(tx.now()));
    if (amount > cap.most - given) return cap.refusal;
  }
  return Refusal::none;
}

void count(db::Tx& tx, const std::vector<Cap>& all, std::int64_t amount) {
  for (const Cap& cap : all) {
    const int rows = tx.execute(R"(
        INSERT INTO reward_days (subject, day, points)
        VALUES ($1, $2, $3)
        ON CONFLICT (subject, day)
        DO UPDATE SET points = reward_days.points + excluded.points
        WHERE reward_days.points + excluded.points <= $4)",
                                cap.subject, utc_day(tx.now()), amount, cap.most);
    if (rows == 0) throw db::Overtaken("another reward has used up what a day allows");
  }
}

// Whether the user's balance can take the amount.
bool has_room(db::Tx& tx, const Reward& reward) {
  return reward.amount <=
         ledger::max_points - ledger::balance(tx, ledger::user_account(reward.user_id));
}

void note_empty(const Reward& reward) {
  ++refused_when_empty;
  if (!is_empty.exchange(true))
    log::warning("the treasury is empty: no rewards are paid until it receives points",
                 {{"reward", to_string(reward.kind)}, {"points", reward.amount}});
}

void note_paid() {
  if (is_empty.exchange(false)) log::info("the treasury pays rewards again");
}

}  // namespace

ledger::Mark mark_of_gift(db::Tx& tx, const std::string& user_id) {
  const std::int64_t own = tx.number(R"(SELECT own_spent FROM users WHERE id = $1)", user_id);
  return own < own_use ? ledger::Mark::bonus : ledger::Mark::kept;
}

bool give(db::Tx& tx, const Reward& reward) {
  if (reward.amount < 1 || !has_room(tx, reward)) return false;
  const auto paid = ledger::post(tx, {.kind = to_string(reward.kind),
                                      .from = ledger::treasury(),
                                      .to = ledger::user_account(reward.user_id),
                                      .amount = reward.amount,
                                      .memo = reward.memo,
                                      .mark = mark_of_gift(tx, reward.user_id)});
  if (!paid) {
    note_empty(reward);
    return false;
  }
  note_paid();
  tx.execute(R"(
      UPDATE users
      SET free_points = CASE WHEN free_points + $2 < $3 THEN free_points + $2 ELSE $3 END
      WHERE id = $1)",
             reward.user_id, reward.amount, ledger::max_points);
  return true;
}

Outcome pay(db::Tx& tx, const Rules& rules, const Reward& reward) {
  if (reward.amount < 1) return {.refusal = Refusal::nothing_due};
  if (tx.number(R"(
      SELECT count(*)
      FROM users
      WHERE id = $1 AND email_verified_at IS NOT NULL AND deleted_at IS NULL)",
                reward.user_id) == 0)
    return {.refusal = Refusal::email_not_verified};
  if (!has_room(tx, reward)) return {.refusal = Refusal::user_cap};
  const std::vector<Cap> all = caps(rules, reward);
  if (const Refusal refusal = refused_by_caps(tx, all, reward.amount); refusal != Refusal::none)
    return {.refusal = refusal};
  if (!give(tx, reward)) return {.refusal = Refusal::treasury_empty};
  count(tx, all, reward.amount);
  return {.points = reward.amount};
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
