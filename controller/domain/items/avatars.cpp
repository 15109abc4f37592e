#include "controller/domain/items/avatars.h"

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"
#include "controller/domain/items/cosmetics.h"

namespace berth::avatars {
namespace {

std::vector<std::string> equipped_by(db::Tx& tx, const std::string& user_id) {
  std::vector<std::string> ids;
  auto rows = tx.query(
      R"(
      SELECT item_id
      FROM equipped_cosmetics
      WHERE user_id = $1
      ORDER BY category)",
      user_id);
  while (rows.next()) ids.push_back(rows.text("item_id"));
  return ids;
}

void touch(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(UPDATE avatars SET updated_at = $2 WHERE user_id = $1)", user_id, tx.now());
}

void check_display_name(const std::string& name) {
  if (is_blank(name) || characters(name) > max_display_name_length)
    throw invalid_field("display_name", "must have 1 to 20 characters");
  if (const auto refusal = refusal_of_text(name, Lines::one))
    throw invalid_field("display_name", std::string(*refusal));
}

}  // namespace

std::optional<Avatar> find(db::Tx& tx, const std::string& user_id) {
  auto rows = tx.query(
      R"(
      SELECT id, display_name, appearance
      FROM avatars
      WHERE user_id = $1)",
      user_id);
  if (!rows.next()) return std::nullopt;
  return Avatar{.id = rows.text("id"),
                .user_id = user_id,
                .display_name = rows.text_or_null("display_name"),
                .appearance = rows.text("appearance"),
                .equipped = equipped_by(tx, user_id)};
}

Avatar find_or_make(db::Tx& tx, const std::string& user_id) {
  tx.execute(
      R"(
      INSERT INTO avatars (id, user_id, created_at, updated_at)
      VALUES ($1, $2, $3, $3)
      ON CONFLICT (user_id) DO NOTHING)",
      new_uuid(tx.now()), user_id, tx.now());
  return *find(tx, user_id);
}

Avatar change(db::Tx& tx, const Change& change) {
  find_or_make(tx, change.user_id);
  if (change.display_name) {
    if (*change.display_name) check_display_name(**change.display_name);
    tx.execute(R"(UPDATE avatars SET display_name = $2 WHERE user_id = $1)", change.user_id,
               *change.display_name);
  }
  if (change.appearance) {
    if (change.appearance->size() > max_appearance_bytes)
      throw invalid_field("appearance", "must have at most 8192 bytes");
    tx.execute(R"(UPDATE avatars SET appearance = $2 WHERE user_id = $1)", change.user_id,
               *change.appearance);
  }
  touch(tx, change.user_id);
  return *find(tx, change.user_id);
}

Avatar equip(db::Tx& tx, const std::string& user_id, const std::vector<std::string>& item_ids) {
  find_or_make(tx, user_id);
  tx.execute(R"(DELETE FROM equipped_cosmetics WHERE user_id = $1)", user_id);
  for (const std::string& id : item_ids) {
    if (!cosmetics::owns(tx, user_id, id))
      throw invalid_field("item_ids", "must be items that you own; you don't own " + id);
    const int added = tx.execute(
        R"(
        INSERT INTO equipped_cosmetics (user_id, category, item_id)
        SELECT CAST($1 AS text), category, id
        FROM cosmetic_items
        WHERE id = $2
        ON CONFLICT DO NOTHING)",
        user_id, id);
    if (added == 0) throw invalid_field("item_ids", "must have at most one item of each category");
  }
  touch(tx, user_id);
  return *find(tx, user_id);
}

void forget(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(DELETE FROM equipped_cosmetics WHERE user_id = $1)", user_id);
  tx.execute(R"(DELETE FROM user_cosmetics WHERE user_id = $1)", user_id);
  tx.execute(R"(DELETE FROM avatars WHERE user_id = $1)", user_id);
}

}  // namespace berth::avatars
