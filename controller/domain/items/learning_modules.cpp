// The modules, which administrators maintain.
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/domain/items/learning.h"
#include "controller/domain/items/learning_rows.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::learning {
namespace {

constexpr std::int64_t max_number = 1'000'000;

const std::string select_modules = R"(
      SELECT)" + module_columns + R"(
      FROM learning_modules m)";

void check_number_is_free(db::Tx& tx, const Module& module) {
  if (tx.number(R"(SELECT count(*) FROM learning_modules WHERE number = $1 AND id <> $2)",
                module.number, module.id) > 0)
    throw invalid_field("module_number", "is already used by another module");
}

}  // namespace

Module module_of(const db::Query& row) {
  return {.id = row.text("id"),
          .number = row.integer("number"),
          .title = row.text("title"),
          .description = row.text("description"),
          .total = row.integer("total"),
          .min_seconds = row.integer("min_seconds"),
          .points = row.integer("points"),
          .repeat_after_seconds = row.integer_or_null("repeat_after_seconds"),
          .active = row.flag("active")};
}

Page<Module> list_all(db::Tx& tx, const PageRequest& page) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM learning_modules LIMIT $1) counted)",
                              .rows = select_modules + R"(
      WHERE m.number > $1
      ORDER BY m.number
      LIMIT $2 OFFSET $3)",
                              .sorted_by = {{SortColumn::Type::integer, "number"}},
                              .order = ListSql::Order::ascending};
  return read_page(tx, sql, page, module_of);
}

Module get(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_modules + R"(
      WHERE m.id = $1)";
  auto rows = tx.query(sql, id);
  if (!rows.next()) throw Error(Code::module_not_found, "there is no such module");
  return module_of(rows);
}

Module create(db::Tx& tx, const Module& wanted) {
  tx.require_serializable();
  Module module = wanted;
  module.id = new_uuid(tx.now());
  if (module.number == 0)
    module.number = tx.number(R"(SELECT coalesce(max(number), 0) + 1 FROM learning_modules)");
  if (module.number > max_number) throw invalid_field("module_number", "must be at most 1000000");
  check_number_is_free(tx, module);
  tx.execute(
      R"(
      INSERT INTO learning_modules (id, number, title, description, total, min_seconds, points,
                                    repeat_after_seconds, active, inserted_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10))",
      module.id, module.number, module.title, module.description, module.total, module.min_seconds,
      module.points, module.repeat_after_seconds, module.active, tx.now());
  return get(tx, module.id);
}

Module update(db::Tx& tx, const Module& module) {
  tx.require_serializable();
  check_number_is_free(tx, module);
  tx.execute(
      R"(
      UPDATE learning_modules
      SET number = $2, title = $3, description = $4, total = $5, min_seconds = $6, points = $7,
          repeat_after_seconds = $8, active = $9, updated_at = $10
      WHERE id = $1)",
      module.id, module.number, module.title, module.description, module.total, module.min_seconds,
      module.points, module.repeat_after_seconds, module.active, tx.now());
  return get(tx, module.id);
}

}  // namespace berth::learning
