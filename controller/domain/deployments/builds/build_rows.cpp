#include "controller/domain/deployments/builds/build_rows.h"

#include "controller/db/enum_column.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::builds {
namespace {

const std::string select_builds = R"(
    SELECT b.id, b.app_id, b.owner_id, b.name, b.initiated_by, b.status, b.reason, b.message,
           b.source_bytes, b.log_bytes, b.image, b.image_bytes, b.image_removed_at, b.price,
           coalesce(c.amount, 0) AS points, b.cancel_asked_at, b.inserted_at, b.started_at,
           b.ended_at
    FROM builds b
    LEFT JOIN build_charges c ON c.build_id = b.id
)";

// An image is needed while a deployment runs it, for a while after it was made, and while it is one
// of the newest of a deployment's name.
const std::string unneeded = R"(
    WHERE b.image IS NOT NULL
      AND b.image_removed_at IS NULL
      AND b.ended_at <= $1
      AND NOT EXISTS (SELECT 1
                      FROM deployments d
                      WHERE d.app_id = b.app_id AND d.image = b.image AND d.status <> 'destroyed')
      AND (NOT EXISTS (SELECT 1
                       FROM deployments n
                       WHERE n.name = b.name AND n.status <> 'destroyed' AND n.app_id = b.app_id)
           OR (SELECT count(*)
               FROM builds later
               WHERE later.app_id = b.app_id
                 AND later.name = b.name
                 AND later.id > b.id
                 AND later.image IS NOT NULL
                 AND later.image_removed_at IS NULL) >= $2)
)";

Build build_of(const db::Query& row) {
  return {.id = row.text("id"),
          .app_id = row.text("app_id"),
          .owner_id = row.text("owner_id"),
          .name = row.text("name"),
          .initiated_by = row.text("initiated_by"),
          .status = db::enum_of<Status>(row, "status"),
          .reason = db::enum_or_null<Reason>(row, "reason"),
          .message = row.text_or_null("message"),
          .source_bytes = row.integer("source_bytes"),
          .log_bytes = row.integer("log_bytes"),
          .image = row.text_or_null("image"),
          .image_bytes = row.integer("image_bytes"),
          .image_removed_at = row.instant_or_null("image_removed_at"),
          .price = row.integer("price"),
          .points = row.integer("points"),
          .cancel_asked_at = row.instant_or_null("cancel_asked_at"),
          .inserted_at = row.instant("inserted_at"),
          .started_at = row.instant_or_null("started_at"),
          .ended_at = row.instant_or_null("ended_at")};
}

std::vector<std::string> ids_of(db::Query rows) {
  std::vector<std::string> ids;
  while (rows.next()) ids.push_back(rows.text("id"));
  return ids;
}

std::vector<Build> builds_of(db::Query rows) {
  std::vector<Build> all;
  while (rows.next()) all.push_back(build_of(rows));
  return all;
}

}  // namespace

std::optional<Build> find(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_builds + R"(WHERE b.id = $1)";
  auto rows = tx.query(sql, id);
  return rows.next() ? std::optional(build_of(rows)) : std::nullopt;
}

Page<Build> list(db::Tx& tx, const std::string& app_id, const std::string& name,
                 const PageRequest& page) {
  static const ListSql of_app = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM builds WHERE app_id = $1 LIMIT $2) counted)",
                                 .rows = select_builds + R"(
      WHERE b.app_id = $1 AND b.id < $2
      ORDER BY b.id DESC
      LIMIT $3 OFFSET $4)",
                                 .sorted_by = {{SortColumn::Type::text, "id"}}};
  static const ListSql of_name = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM builds WHERE app_id = $1 AND name = $2 LIMIT $3) counted)",
                                  .rows = select_builds + R"(
      WHERE b.app_id = $1 AND b.name = $2 AND b.id < $3
      ORDER BY b.id DESC
      LIMIT $4 OFFSET $5)",
                                  .sorted_by = {{SortColumn::Type::text, "id"}}};
  return name.empty() ? read_page(tx, of_app, page, build_of, app_id)
                      : read_page(tx, of_name, page, build_of, app_id, name);
}

std::vector<Build> next(db::Tx& tx, int most) {
  static const std::string sql = select_builds + R"(
      WHERE b.status = 'queued'
        AND NOT EXISTS (SELECT 1
                        FROM builds running
                        WHERE running.status = 'building' AND running.app_id = b.app_id)
        AND NOT EXISTS (SELECT 1
                        FROM builds earlier
                        WHERE earlier.status = 'queued'
                          AND earlier.app_id = b.app_id
                          AND earlier.id < b.id)
      ORDER BY b.id
      LIMIT $1)";
  return builds_of(tx.query(sql, most));
}

std::vector<std::string> to_cancel(db::Tx& tx) {
  return ids_of(tx.query(R"(
      SELECT id
      FROM builds
      WHERE status = 'building' AND cancel_asked_at IS NOT NULL)"));
}

std::vector<std::string> running(db::Tx& tx) {
  return ids_of(tx.query(R"(SELECT id FROM builds WHERE status = 'building')"));
}

std::vector<Build> unneeded_images(db::Tx& tx, int most) {
  static const std::string sql = select_builds + unneeded + R"(
      ORDER BY b.id
      LIMIT $3)";
  return builds_of(tx.query(sql, tx.now() - unused_for, kept_images, most));
}

bool is_unneeded(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_builds + unneeded + R"(
      AND b.id = $3)";
  return tx.query(sql, tx.now() - unused_for, kept_images, id).next();
}

bool is_kept(db::Tx& tx, const std::string& image) {
  return tx.number(R"(
      SELECT count(*)
      FROM builds
      WHERE image = $1 AND image_removed_at IS NULL)",
                   image) > 0;
}

bool is_any_old(db::Tx& tx) {
  return tx.number(R"(
      SELECT 1
      FROM builds
      WHERE ended_at <= $1 AND (image IS NULL OR image_removed_at IS NOT NULL)
      LIMIT 1)",
                   tx.now() - kept_for) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  return tx.execute(R"(
      DELETE FROM builds
      WHERE id IN (SELECT id
                   FROM builds
                   WHERE ended_at <= $1 AND (image IS NULL OR image_removed_at IS NOT NULL)
                   LIMIT $2))",
                    tx.now() - kept_for, limit);
}

bool has_open(db::Tx& tx, const std::string& app_id) {
  return tx.number(R"(
      SELECT 1
      FROM builds
      WHERE status IN ('queued', 'building') AND app_id = $1
      LIMIT 1)",
                   app_id) > 0;
}

int erase(db::Tx& tx, const std::string& app_id, int limit) {
  return tx.execute(
      R"(DELETE FROM builds WHERE id IN (SELECT id FROM builds WHERE app_id = $1 LIMIT $2))",
      app_id, limit);
}

}  // namespace berth::builds
