#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"

// What happened to an app's deployments, as rows that commit with it. Each change of what
// GET …/status shows is written by a trigger of the database (0011_webhooks.sql), so that no part
// of berth can change a status in silence; commits tell of them by Topic::deployment and
// deployment_seen.
namespace berth::app_events {

// The newest so many of a deployment stay, and none longer than `kept_for`.
inline constexpr int kept_of_a_subject = 200;
inline constexpr Duration kept_for = std::chrono::days(7);

struct Event {
  std::int64_t id = 0;  // rises with the commits
  nlohmann::json data;  // id, status, subdomain, phase, reason, …; last_health_check in ms
  Instant at;
};
// Changes of the deployment's status behind `after`, oldest first.
std::vector<Event> status_changes(db::Tx& tx, const std::string& deployment_id, std::int64_t after,
                                  int most);
// The id of the newest one; nothing where all were too old to be kept.
std::optional<std::int64_t> newest_status_change(db::Tx& tx, const std::string& deployment_id);

// Removes at most `most` of those that are too old and that no delivery needs.
int remove_old(db::Tx& tx, int most);
bool is_any_old(db::Tx& tx);

}  // namespace berth::app_events
