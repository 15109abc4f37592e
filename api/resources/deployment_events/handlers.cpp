// The changes of a deployment's status, as a stream.
#include "api/resources/deployment_events/handlers.h"

#include "api/gate/event_stream.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/webhooks/app_events.h"

namespace berth::api {
namespace {

// The DeploymentStatus that GET …/status returned at that time, and the time.
std::string status_text(app_events::Event event, const Services& services) {
  json& data = event.data;
  const json served = data.value("served_domain", json(nullptr));
  data.erase("served_domain");
  data["url"] = services.url_of(served.is_string() ? served.get<std::string>()
                                                   : data.at("subdomain").get<std::string>() + "." +
                                                         services.deployment_rules.apps_domain);
  json& checked = data["last_health_check"];
  if (checked.is_number_integer()) checked = to_iso8601(from_millis(checked));
  data["at"] = to_iso8601(event.at);
  return data.dump(-1, ' ', false, json::error_handler_t::replace);
}

EventBatch read_changes(db::Tx& tx, const Services& services, const std::string& id,
                        std::int64_t after) {
  EventBatch batch;
  for (app_events::Event& event :
       app_events::status_changes(tx, id, after, int(event_batch_size))) {
    // No event can follow this one.
    if (event.data.at("status") == "destroyed") batch.next = Next::end;
    const std::string number = std::to_string(event.id);
    batch.events.push_back(
        {.id = number, .name = "status", .data = status_text(std::move(event), services)});
  }
  return batch;
}

// Where the stream begins. A first stream begins with the present status, and so does one whose id
// doesn't belong to this stream, because it comes from another deployment or from a database that
// has since been restored.
std::int64_t start_of(db::Tx& tx, const Call& call, const std::string& id) {
  const std::int64_t newest = app_events::newest_status_change(tx, id).value_or(0);
  const std::int64_t given = last_event_number(call.http).value_or(INT64_MAX);
  return given <= newest ? given : newest - 1;
}

}  // namespace

Reply deployment_events(db::Tx& tx, const Call& call, const Services& services) {
  const deployments::Deployment row = deployments::get_owned(tx, call.caller->app_id, call.id());
  const std::int64_t after = start_of(tx, call, row.id);
  // The stream has ended for good. A client that follows the standard doesn't reconnect after a 204
  // (WHATWG HTML, section 9.2.3).
  if (row.status == deployments::Status::destroyed &&
      app_events::status_changes(tx, row.id, after, 1).empty())
    return {.status = 204, .body = nullptr};
  return follow_events(call, services,
                       {.topic = db::Topic::deployment_seen,
                        .id = row.id,
                        .after = std::to_string(after),
                        .read = [&services, id = row.id](db::Tx& later, const std::string& behind) {
                          return read_changes(later, services, id, std::stoll(behind));
                        }});
}

}  // namespace berth::api
