#include "controller/domain/kernel/audit.h"

#include <algorithm>

#include "controller/base/crypto.h"
#include "controller/base/id.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::audit {
namespace {

// Greater than every id.
constexpr const char* last_id = "g";

// Returns a text that is less than the ids of all entries of this time or later, and greater than
// those of all earlier ones: a UUIDv7 begins with its time in milliseconds (RFC 9562, section 5.7).
std::string first_id_at(Instant at) {
  constexpr int bytes = 6;
  constexpr std::int64_t latest = (std::int64_t(1) << (8 * bytes)) - 1;
  const std::int64_t millis = std::clamp<std::int64_t>(to_millis(at), 0, latest);
  std::string time;
  for (int byte = bytes - 1; byte >= 0; --byte) time += char(millis >> (8 * byte));
  return hex(time).insert(8, "-");
}

// The target, the actor and the action (empty: any), and the ends of the ids. One of the first
// three that is known has an index.
const std::string filtered = R"(
        AND ($1 = '' OR target = $1) AND ($2 = '' OR actor = $2) AND ($3 = '' OR action = $3)
        AND id >= $4 AND id < $5)";
const std::string count_entries = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM audit_log)";
const std::string end_of_count = R"(
            LIMIT $6) counted)";
const std::string select_entries = R"(
      SELECT id, actor, action, target, details, at
      FROM audit_log)";
const std::string page_of_entries = R"(
        AND id < $6
      ORDER BY id DESC
      LIMIT $7 OFFSET $8)";
const std::vector<SortColumn> newest_first = {{SortColumn::Type::text, "id"}};

const ListSql of_all = {.count = count_entries + R"( WHERE id >= $4)" + filtered + end_of_count,
                        .rows = select_entries + R"( WHERE id >= $4)" + filtered + page_of_entries,
                        .sorted_by = newest_first};
const ListSql with_target = {
    .count = count_entries + R"( WHERE target = $1)" + filtered + end_of_count,
    .rows = select_entries + R"( WHERE target = $1)" + filtered + page_of_entries,
    .sorted_by = newest_first};
const ListSql with_actor = {
    .count = count_entries + R"( WHERE actor = $2)" + filtered + end_of_count,
    .rows = select_entries + R"( WHERE actor = $2)" + filtered + page_of_entries,
    .sorted_by = newest_first};
const ListSql with_action = {
    .count = count_entries + R"( WHERE action = $3)" + filtered + end_of_count,
    .rows = select_entries + R"( WHERE action = $3)" + filtered + page_of_entries,
    .sorted_by = newest_first};

Entry entry_of(const db::Query& row) {
  return {.id = row.text("id"),
          .actor = row.text("actor"),
          .action = row.text("action"),
          .target = row.text("target"),
          .details = row.text("details"),
          .at = row.instant("at")};
}

}  // namespace

void record(db::Tx& tx, std::string_view actor, std::string_view action, std::string_view target,
            std::string_view details) {
  tx.execute_later(R"(
      INSERT INTO audit_log (id, actor, action, target, details, at)
      VALUES ($1, $2, $3, $4, $5, $6))",
                   new_uuid(tx.now()), actor, action, target, details, tx.now());
}

Page<Entry> list(db::Tx& tx, const Filter& filter, const PageRequest& page) {
  const ListSql& sql = filter.target   ? with_target
                       : filter.actor  ? with_actor
                       : filter.action ? with_action
                                       : of_all;
  return read_page(tx, sql, page, entry_of, filter.target.value_or(""), filter.actor.value_or(""),
                   filter.action.value_or(""), filter.from ? first_id_at(*filter.from) : "",
                   filter.until ? first_id_at(*filter.until) : last_id);
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
