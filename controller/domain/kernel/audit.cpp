#include "controller/domain/kernel/audit.h"

#include "controller/base/id.h"

namespace berth::audit {

void record(db::Tx& tx, std::string_view actor, std::string_view action, std::string_view target,
            std::string_view details) {
  tx.execute(R"(
      INSERT INTO audit_log (id, actor, action, target, details, at)
      VALUES ($1, $2, $3, $4, $5, $6))",
             new_uuid(tx.now()), actor, action, target, details, tx.now());
}

Page<Entry> list(db::Tx& tx, const PageRequest& page) {
  Page<Entry> result = {.items = {},
                        .page = page.page,
                        .page_size = page.page_size,
                        .total = tx.number(R"(SELECT count(*) FROM audit_log)")};
  auto rows = tx.query(R"(
      SELECT id, actor, action, target, details, at
      FROM audit_log
      ORDER BY id DESC
      LIMIT $1 OFFSET $2)",
                       page.page_size, page.offset());
  while (rows.next())
    result.items.push_back({.id = rows.text("id"),
                            .actor = rows.text("actor"),
                            .action = rows.text("action"),
                            .target = rows.text("target"),
                            .details = rows.text("details"),
                            .at = rows.instant("at")});
  return result;
}

int erase_details(db::Tx& tx, std::initializer_list<std::string> targets, int limit) {
  int erased = 0;
  for (const std::string& target : targets)
    if (erased < limit)
      erased += tx.execute(
          R"(
          UPDATE audit_log
          SET details = '{}'
          WHERE id IN (SELECT id FROM audit_log WHERE target = $1 AND details <> '{}' LIMIT $2))",
          target, limit - erased);
  return erased;
}

}  // namespace berth::audit
