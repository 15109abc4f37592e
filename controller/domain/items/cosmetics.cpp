#include "controller/domain/items/cosmetics.h"

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/accounts/guests.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/social/blocks.h"

namespace berth::cosmetics {
namespace {

// The columns of cosmetic_items i that item_of() reads.
const std::string item_columns = R"(
             i.id, i.name, i.description, i.category, i.rarity, i.asset_url, i.price_points,
             i.available, i.inserted_at)";

Item item_of(const db::Query& row) {
  return {.id = row.text("id"),
          .name = row.text("name"),
          .description = row.text_or_null("description"),
          .category = db::enum_of<Category>(row, "category"),
          .rarity = db::enum_of<Rarity>(row, "rarity"),
          .asset_url = row.text_or_null("asset_url"),
          .price_points = row.integer("price_points"),
          .available = row.flag("available")};
}

const std::string select_items = R"(
      SELECT)" + item_columns + R"(
      FROM cosmetic_items i)";

const std::string select_owned = R"(
      SELECT o.id AS owned_id,)" +
                                 item_columns + R"(,
             o.acquired_at, o.acquired_via
      FROM user_cosmetics o
      JOIN cosmetic_items i ON i.id = o.item_id)";

Owned owned_of(const db::Query& row) {
  return {.id = row.text("owned_id"),
          .item = item_of(row),
          .acquired_at = row.instant("acquired_at"),
          .acquired_via = db::enum_of<AcquiredVia>(row, "acquired_via")};
}

// $1, $2 and $3 are the category, the rarity and the availability. NULL doesn't filter.
const std::string fits_filter = R"(
      WHERE (CAST($1 AS text) IS NULL OR i.category = $1)
        AND (CAST($2 AS text) IS NULL OR i.rarity = $2)
        AND (CAST($3 AS bigint) IS NULL OR i.available = $3))";

void pay(db::Tx& tx, const Payer& payer, const Item& item, const std::string& owner_id,
         AcquiredVia via) {
  if (item.price_points == 0) return;
  const bool is_gift = via == AcquiredVia::gift;
  debits::take(tx, payer,
               {.kind = is_gift ? "cosmetic_gift" : "cosmetic_purchase",
                .to = ledger::treasury(),
                .reaches = is_gift ? owner_id : "",
                .amount = item.price_points,
                .memo = (is_gift ? "a gift: " : "") + item.name});
}

Acquisition acquire(db::Tx& tx, const Payer& payer, const std::string& item_id,
                    const std::string& owner_id, AcquiredVia via) {
  const Item item = get(tx, item_id);
  if (!item.available)
    throw Error(Code::cosmetic_unavailable, "this item isn't available at the moment");
  const auto paid = via == AcquiredVia::purchase ? std::optional(item.price_points) : std::nullopt;
  if (tx.execute(
          R"(
      INSERT INTO user_cosmetics (id, user_id, item_id, acquired_at, acquired_via, paid)
      VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (user_id, item_id) DO NOTHING)",
          new_uuid(tx.now()), owner_id, item.id, tx.now(), to_string(via), paid) == 0)
    throw Error(Code::already_owned, "the user already owns this item");
  pay(tx, payer, item, owner_id, via);
  static const std::string sql = select_owned + R"(
      WHERE o.user_id = $1 AND o.item_id = $2)";
  auto rows = tx.query(sql, owner_id, item.id);
  rows.next();
  return {.owned = owned_of(rows),
          .paid = item.price_points,
          .balance = ledger::balance(tx, ledger::user_account(payer.user_id))};
}

}  // namespace

Page<Item> list(db::Tx& tx, const Filter& filter, const PageRequest& page) {
  static const ListSql sql = {
      .count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM cosmetic_items i)" +
               fits_filter + R"(
            LIMIT $4) counted)",
      .rows = select_items + fits_filter + R"(
        AND (i.inserted_at, i.id) > ($4, $5)
      ORDER BY i.inserted_at, i.id
      LIMIT $6 OFFSET $7)",
      .sorted_by = {{SortColumn::Type::integer, "inserted_at"}, {SortColumn::Type::text, "id"}},
      .order = ListSql::Order::ascending};
  return read_page(tx, sql, page, item_of, to_string(filter.category), to_string(filter.rarity),
                   filter.available);
}

Item get(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_items + R"(
      WHERE i.id = $1)";
  auto rows = tx.query(sql, id);
  if (!rows.next()) throw Error(Code::cosmetic_not_found, "there is no such cosmetic item");
  return item_of(rows);
}

Item create(db::Tx& tx, const Item& item) {
  const std::string id = new_uuid(tx.now());
  tx.execute(
      R"(
      INSERT INTO cosmetic_items (id, name, description, category, rarity, asset_url, price_points,
                                  available, inserted_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9))",
      id, item.name, item.description, to_string(item.category), to_string(item.rarity),
      item.asset_url, item.price_points, item.available, tx.now());
  return get(tx, id);
}

Item update(db::Tx& tx, const Item& item) {
  tx.execute(
      R"(
      UPDATE cosmetic_items
      SET name = $2, description = $3, rarity = $4, asset_url = $5, price_points = $6,
          available = $7, updated_at = $8
      WHERE id = $1)",
      item.id, item.name, item.description, to_string(item.rarity), item.asset_url,
      item.price_points, item.available, tx.now());
  return get(tx, item.id);
}

Page<Owned> owned_by(db::Tx& tx, const std::string& user_id, const PageRequest& page) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM user_cosmetics WHERE user_id = $1 LIMIT $2) counted)",
                              .rows = select_owned + R"(
      WHERE o.user_id = $1 AND (o.acquired_at, o.id) < ($2, $3)
      ORDER BY o.acquired_at DESC, o.id DESC
      LIMIT $4 OFFSET $5)",
                              .sorted_by = {{SortColumn::Type::integer, "acquired_at"},
                                            {SortColumn::Type::text, "owned_id"}}};
  return read_page(tx, sql, page, owned_of, user_id);
}

bool owns(db::Tx& tx, const std::string& user_id, const std::string& item_id) {
  return tx.number(R"(SELECT count(*) FROM user_cosmetics WHERE user_id = $1 AND item_id = $2)",
                   user_id, item_id) == 1;
}

Acquisition purchase(db::Tx& tx, const Payer& payer, const std::string& item_id) {
  return acquire(tx, payer, item_id, payer.user_id, AcquiredVia::purchase);
}

Acquisition give(db::Tx& tx, const Payer& payer, const std::string& item_id,
                 const std::string& to_user_id) {
  if (to_user_id == payer.user_id)
    throw invalid_field("to_user_id", "must be the id of another user");
  blocks::require_visible(tx, payer.user_id, to_user_id);
  guests::require_none(tx, payer.user_id, to_user_id);
  return acquire(tx, payer, item_id, to_user_id, AcquiredVia::gift);
}

}  // namespace berth::cosmetics
