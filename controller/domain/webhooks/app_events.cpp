#include "controller/domain/webhooks/app_events.h"

namespace berth::app_events {
namespace {

// The newest event of a deployment is kept whatever its age, because a stream begins with it.
constexpr std::string_view select_old = R"(
    SELECT e.id
    FROM app_events e
    WHERE e.at <= $1
      AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = e.id)
      AND (e.type NOT IN ('deployment.status', 'deployment.progress')
           OR EXISTS (
             SELECT 1
             FROM app_events n
             WHERE n.subject = e.subject AND n.id > e.id
               AND n.type IN ('deployment.status', 'deployment.progress')))
    ORDER BY e.at
    LIMIT $2)";

}  // namespace

std::vector<Event> status_changes(db::Tx& tx, const std::string& deployment_id, std::int64_t after,
                                  int most) {
  std::vector<Event> events;
  auto rows = tx.query(R"(
      SELECT id, data, at
      FROM app_events
      WHERE subject = $1 AND id > $2 AND type IN ('deployment.status', 'deployment.progress')
      ORDER BY id
      LIMIT $3)",
                       deployment_id, after, most);
  while (rows.next())
    events.push_back({.id = rows.integer("id"),
                      .data = nlohmann::json::parse(rows.text("data")),
                      .at = rows.instant("at")});
  return events;
}

std::optional<std::int64_t> newest_status_change(db::Tx& tx, const std::string& deployment_id) {
  auto rows = tx.query(R"(
      SELECT id
      FROM app_events
      WHERE subject = $1 AND type IN ('deployment.status', 'deployment.progress')
      ORDER BY id DESC
      LIMIT 1)",
                       deployment_id);
  return rows.next() ? std::optional(rows.integer("id")) : std::nullopt;
}

std::int64_t newest(db::Tx& tx) {
  return tx.number(R"(SELECT coalesce(max(id), 0) FROM app_events)");
}

AppEvents events_of(db::Tx& tx, const std::set<std::string>& app_ids, std::int64_t after,
                    int most) {
  AppEvents found{.events = {}, .read_to = after};
  int looked_at = 0;
  auto rows = tx.query(R"(
      SELECT id, app_id, type, data, at
      FROM app_events
      WHERE id > $1
      ORDER BY id
      LIMIT $2)",
                       after, most);
  while (rows.next()) {
    ++looked_at;
    found.read_to = rows.integer("id");
    std::string app_id = rows.text("app_id");
    if (!app_ids.contains(app_id)) continue;
    found.events.push_back({.event = {.id = found.read_to,
                                      .data = nlohmann::json::parse(rows.text("data")),
                                      .at = rows.instant("at")},
                            .app_id = std::move(app_id),
                            .type = rows.text("type")});
  }
  found.behind = looked_at == most;
  return found;
}

bool is_any_old(db::Tx& tx) { return tx.query(select_old, tx.now() - kept_for, 1).next(); }

int remove_old(db::Tx& tx, int most) {
  std::vector<std::int64_t> ids;
  {
    auto rows = tx.query(select_old, tx.now() - kept_for, most);
    while (rows.next()) ids.push_back(rows.integer("id"));
  }
  for (const std::int64_t id : ids) tx.execute(R"(DELETE FROM app_events WHERE id = $1)", id);
  return int(ids.size());
}

int forget(db::Tx& tx, const std::string& subject) {
  tx.execute(
      R"(
      DELETE FROM webhook_deliveries
      WHERE event_id IN (SELECT id FROM app_events WHERE subject = $1))",
      subject);
  return tx.execute(R"(DELETE FROM app_events WHERE subject = $1)", subject);
}

}  // namespace berth::app_events
