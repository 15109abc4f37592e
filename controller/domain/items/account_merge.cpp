#include "controller/domain/items/account_merge.h"

#include <algorithm>

#include "controller/base/error.h"
#include "controller/domain/items/avatars.h"
#include "controller/domain/ledger/ledger.h"

namespace berth::items {
namespace {

const std::string empty_appearance = avatars::Avatar().appearance;

void plan_cosmetics(db::Tx& tx, AccountMerge& plan) {
  auto rows = tx.query(R"(
      SELECT o.item_id, coalesce(o.paid, 0) AS paid,
             CASE WHEN a.user_id IS NULL THEN 0 ELSE 1 END AS is_owned
      FROM user_cosmetics o
      LEFT JOIN user_cosmetics a ON a.user_id = $2 AND a.item_id = o.item_id
      WHERE o.user_id = $1)",
                       plan.guest_id, plan.account_id);
  while (rows.next()) {
    const bool is_owned = rows.flag("is_owned");
    (is_owned ? plan.both : plan.moved).push_back(rows.text("item_id"));
    if (is_owned) plan.refund += rows.integer("paid");
  }
  std::ranges::sort(plan.moved);
  std::ranges::sort(plan.both);
}

void plan_outfit(db::Tx& tx, AccountMerge& plan) {
  auto rows = tx.query(R"(
      SELECT item_id
      FROM equipped_cosmetics
      WHERE user_id = $1
        AND NOT EXISTS (
          SELECT 1
          FROM equipped_cosmetics e
          WHERE e.user_id = $2 AND e.category = equipped_cosmetics.category))",
                       plan.guest_id, plan.account_id);
  while (rows.next()) plan.put_on.push_back(rows.text("item_id"));
  std::ranges::sort(plan.put_on);
}

void plan_avatar(db::Tx& tx, AccountMerge& plan) {
  const auto own = avatars::find(tx, plan.account_id);
  const auto of_guest = avatars::find(tx, plan.guest_id);
  plan.has_avatar = own.has_value();
  if (!of_guest) return;
  const avatars::Avatar held = own.value_or(avatars::Avatar{});
  if (of_guest->display_name) {
    if (!held.display_name)
      plan.display_name = of_guest->display_name;
    else
      plan.drops_display_name = held.display_name != of_guest->display_name;
  }
  if (of_guest->appearance != empty_appearance) {
    if (held.appearance == empty_appearance)
      plan.appearance = of_guest->appearance;
    else
      plan.drops_appearance = held.appearance != of_guest->appearance;
  }
  plan_outfit(tx, plan);
}

void plan_learning(db::Tx& tx, AccountMerge& plan) {
  auto rows = tx.query(R"(
      SELECT g.module_id, g.completed, g.first_completed_at,
             CASE WHEN a.user_id IS NULL THEN 0 ELSE 1 END AS is_begun,
             a.completed AS own_completed, a.first_completed_at AS own_first_completed_at
      FROM learning_progress g
      LEFT JOIN learning_progress a ON a.user_id = $2 AND a.module_id = g.module_id
      WHERE g.user_id = $1)",
                       plan.guest_id, plan.account_id);
  while (rows.next()) {
    const bool is_further = !rows.null("first_completed_at") ||
                            rows.integer("completed") > rows.integer("own_completed");
    const bool has_completed = !rows.null("own_first_completed_at");
    if (!rows.flag("is_begun") || (!has_completed && is_further))
      plan.modules.push_back(rows.text("module_id"));
    else
      ++plan.modules_kept;
  }
  std::ranges::sort(plan.modules);
  auto paths = tx.query(R"(
      SELECT path
      FROM learning_paths
      WHERE user_id = $1
        AND NOT EXISTS (SELECT 1 FROM learning_paths p WHERE p.user_id = $2))",
                        plan.guest_id, plan.account_id);
  if (paths.next()) plan.path = paths.text("path");
}

void merge_cosmetics(db::Tx& tx, const AccountMerge& plan) {
  // Nobody wears what they don't own.
  tx.execute(R"(DELETE FROM equipped_cosmetics WHERE user_id = $1)", plan.guest_id);
  for (const std::string& id : plan.moved)
    tx.require_change(R"(
        UPDATE user_cosmetics
        SET user_id = $2
        WHERE user_id = $1 AND item_id = $3)",
                      plan.guest_id, plan.account_id, id);
  for (const std::string& id : plan.put_on)
    tx.execute(R"(
        INSERT INTO equipped_cosmetics (user_id, category, item_id)
        SELECT CAST($1 AS text), category, id
        FROM cosmetic_items
        WHERE id = $2
        ON CONFLICT DO NOTHING)",
               plan.account_id, id);
  if (plan.refund == 0) return;
  ledger::open_account(tx, ledger::treasury());
  if (!ledger::post(tx, {.kind = "cosmetic_refund",
                         .from = ledger::treasury(),
                         .to = ledger::user_account(plan.account_id),
                         .amount = plan.refund,
                         .memo = "items that a guest had bought, too"}))
    throw Error(Code::invalid_state,
                "the treasury has too few points to give back what the guest has paid for items "
                "that both own; try again later");
}

void merge_avatar(db::Tx& tx, const AccountMerge& plan) {
  if (!plan.has_avatar) {
    tx.execute(R"(UPDATE avatars SET user_id = $2 WHERE user_id = $1)", plan.guest_id,
               plan.account_id);
    return;
  }
  if (!plan.display_name && !plan.appearance && plan.put_on.empty()) return;
  tx.execute(R"(
      UPDATE avatars
      SET display_name = coalesce($2, display_name),
          appearance = coalesce($3, appearance),
          updated_at = $4
      WHERE user_id = $1)",
             plan.account_id, plan.display_name, plan.appearance, tx.now());
}

void merge_learning(db::Tx& tx, const AccountMerge& plan) {
  for (const std::string& id : plan.modules) {
    tx.execute(R"(DELETE FROM learning_progress WHERE user_id = $1 AND module_id = $2)",
               plan.account_id, id);
    tx.require_change(R"(
        UPDATE learning_progress
        SET user_id = $2
        WHERE user_id = $1 AND module_id = $3)",
                      plan.guest_id, plan.account_id, id);
  }
  if (plan.path)
    tx.execute(R"(UPDATE learning_paths SET user_id = $2 WHERE user_id = $1)", plan.guest_id,
               plan.account_id);
}

}  // namespace

std::string AccountMerge::contents() const {
  std::string text;
  const auto add = [&](const char* what, const std::vector<std::string>& ids) {
    text += std::string(what) + ":";
    for (const std::string& id : ids) text += " " + id;
    text += "\n";
  };
  const auto add_text = [&](const char* what, const std::optional<std::string>& value) {
    text += std::string(what) + ": " + (value ? std::to_string(value->size()) + " " + *value : "");
    text += "\n";
  };
  add("items", moved);
  add("both", both);
  text += "refund: " + std::to_string(refund) + "\n";
  add_text("display name", display_name);
  add_text("appearance", appearance);
  add("put on", put_on);
  text += std::string(drops_display_name ? "drops the name\n" : "") +
          (drops_appearance ? "drops the appearance\n" : "");
  add("modules", modules);
  text += "kept: " + std::to_string(modules_kept) + "\n";
  add_text("path", path);
  return text;
}

AccountMerge plan_merge(db::Tx& tx, const std::string& guest_id, const std::string& account_id) {
  AccountMerge plan = {.guest_id = guest_id, .account_id = account_id};
  plan_cosmetics(tx, plan);
  plan_avatar(tx, plan);
  plan_learning(tx, plan);
  return plan;
}

void merge(db::Tx& tx, const AccountMerge& plan) {
  tx.require_serializable();
  merge_cosmetics(tx, plan);
  merge_avatar(tx, plan);
  merge_learning(tx, plan);
}

}  // namespace berth::items
