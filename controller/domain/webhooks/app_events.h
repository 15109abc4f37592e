#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/db/database.h"

// What has happened to an app's deployments, as rows that are committed together with the change.
// Triggers of the database write a row for each change of what GET …/status shows
// (0011_webhooks.sql), so that no part of berth can change a status unnoticed. The commits notify
// Topic::deployment and deployment_seen.
namespace berth::app_events {

// The newest events of a deployment are kept, this many and for this long. A deployment's newest
// event is kept whatever its age, and an event that a delivery needs stays until that is done. The
// trigger in 0011_webhooks.sql has the same number.
inline constexpr int kept_of_a_subject = 200;
inline constexpr Duration kept_for = std::chrono::days(7);

struct Event {
  std::int64_t id = 0;  // rises with each commit
  // The fields id, status, subdomain, phase, reason and more; last_health_check in milliseconds.
  nlohmann::json data;
  Instant at;
};
// The changes of the deployment's status after `after`, oldest first, at most `most`.
std::vector<Event> status_changes(db::Tx& tx, const std::string& deployment_id, std::int64_t after,
                                  int most);
// The id of the newest change; nothing if there is none.
std::optional<std::int64_t> newest_status_change(db::Tx& tx, const std::string& deployment_id);

// Returns the id of the newest event of all apps; 0 if there is none.
std::int64_t newest(db::Tx& tx);
struct AppEvent {
  // Its `data` is what webhooks are sent, except for changes of a status (see Event).
  Event event;
  std::string app_id;
  std::string type;  // deployment.status, deployment.progress, billing.warning, …
};
struct AppEvents {
  std::vector<AppEvent> events;
  std::int64_t read_to = 0;  // the id of the last row that was looked at
  bool behind = false;       // whether there are rows after it
};
// Returns the events of these apps after `after`, oldest first. Looks at no more than `most` rows,
// those of other apps included.
AppEvents events_of(db::Tx& tx, const std::set<std::string>& app_ids, std::int64_t after, int most);

// Deletes at most `most` events that are too old and that no delivery needs. Returns their number.
int remove_old(db::Tx& tx, int most);
// Whether remove_old() would find an event.
bool is_any_old(db::Tx& tx);

// Deletes all events of a subject, of which there are little more than kept_of_a_subject, with
// their deliveries. Returns the number of events.
int forget(db::Tx& tx, const std::string& subject);

}  // namespace berth::app_events
