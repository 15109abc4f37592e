// Handlers of the event streams: one of a deployment's status, and one of everything that happens
// to the apps of an account.
#include "api/gate/event_stream.h"
#include "api/resources/shared.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/webhooks/app_events.h"

namespace berth::api {
namespace {

// The DeploymentStatus that GET …/status returned at that time, and the time.
std::string status_text(app_events::Event event, const Services& services) {
  json& data = event.data;
  const json served = data.value("served_domain", json(nullptr));
  data.erase("served_domain");
  data["url"] =
      services.cluster.url_of(served.is_string() ? served.get<std::string>()
                                                 : data.at("subdomain").get<std::string>() + "." +
                                                       services.rules.deployments.apps_domain);
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
    if (event.data.at("status") == "destroyed") batch.is_last = true;
    const std::string number = std::to_string(event.id);
    batch.add({.id = number, .name = "status", .data = status_text(std::move(event), services)});
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

// How many rows one read returns, and how many events a client may have missed and still resume.
constexpr int rows_at_once = 500;
constexpr std::int64_t longest_gap = 10'000;
// Every event of any app wakes the streams of all accounts.
constexpr std::chrono::milliseconds gathering{200};

// The ids of the user's apps, or of those of them that the query names.
std::set<std::string> apps_of(db::Tx& tx, const std::string& user_id,
                              const std::optional<std::set<std::string>>& wanted) {
  std::set<std::string> ids;
  for (const apps::App& app :
       apps::list_owned(tx, user_id, {.page = 1, .page_size = PageRequest::max_size}).items)
    if (!wanted || wanted->contains(app.id)) ids.insert(app.id);
  return ids;
}

Event encode(app_events::AppEvent found, const Services& services) {
  const std::string id = std::to_string(found.event.id);
  if (found.type == "deployment.status" || found.type == "deployment.progress") {
    found.event.data["app_id"] = found.app_id;
    return {.id = id, .name = "status", .data = status_text(std::move(found.event), services)};
  }
  const json data = {{"app_id", found.app_id},
                     {"at", to_iso8601(found.event.at)},
                     {"data", std::move(found.event.data)}};
  return {.id = id,
          .name = found.type,
          .data = data.dump(-1, ' ', false, json::error_handler_t::replace)};
}

void read_events(db::Tx& tx, const Services& services, const std::set<std::string>& app_ids,
                 std::int64_t after, EventBatch& batch) {
  app_events::AppEvents found = app_events::events_of(tx, app_ids, after, rows_at_once);
  batch.read_to = std::to_string(found.read_to);
  batch.behind = found.behind;
  for (app_events::AppEvent& event : found.events) batch.add(encode(std::move(event), services));
}

std::set<std::string> split(const std::string& text) {
  std::set<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Reply account_events(db::Tx& tx, const Call& call, const Services& services) {
  std::optional<std::set<std::string>> wanted;
  if (const auto text = call.query("apps")) wanted = split(*text);
  if (wanted)
    for (const std::string& id : *wanted) apps::get_owned(tx, call.user->id, id);
  const std::int64_t newest = app_events::newest(tx);
  const auto given = last_event_number(call.http);
  const bool resumes = given && *given <= newest && newest - *given <= longest_gap;
  return follow_events(
      call, services,
      {.topic = db::Topic::webhook,
       .id = events_of_all_apps,
       .after = std::to_string(resumes ? *given : newest),
       .read =
           [&services, user = call.user->id, wanted, resumes, greeted = false](
               db::Tx& later, const std::string& behind) mutable {
             EventBatch batch;
             if (!greeted)
               batch.add(
                   {.id = behind, .name = "ready", .data = json{{"resumed", resumes}}.dump()});
             greeted = true;
             read_events(later, services, apps_of(later, user, wanted), std::stoll(behind), batch);
             return batch;
           },
       .gather = gathering});
}

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

constexpr Param account_events_query[] = {
    {.name = "apps",
     .description = "The ids of the apps to follow, separated by commas; by default, "
                    "all apps of the account.",
     .example = "01936f5e-7c1a-7000-8000-000000000003"}};

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps/{id}/events",
     .name = "deploymentEvents",
     .tag = "Deployments",
     .summary = "Follow a deployment's status as server-sent events: the first event has the "
                "current status, the others its changes; Last-Event-ID resumes after that event",
     .text = "Sends the status now and at each change, until the token ends or the deployment is "
             "deleted. It replaces polling of …/status.",
     .guards = {reads_deployments, stream_openings},
     .in_path = {&deployment_in_path},
     .answer = {.status = 200,
                .schema = "DeploymentEventStream",
                .content_type = "text/event-stream",
                .or_nothing = "The deployment was deleted, and all its events were sent."},
     .errors = {Code::deployment_not_found, Code::forbidden, Code::malformed_request},
     .served_by = {"berth deploy events"},
     .run = ReadHandler{deployment_events}},
    {.request = "GET /api/events",
     .name = "accountEvents",
     .tag = "Deployments",
     .summary =
         "Follow everything that happens to the user's apps as server-sent events: deployments, "
         "domains, billing, points, campaigns, scope requests; Last-Event-ID resumes after that "
         "event",
     .text = "Streams what happens to the caller's apps as server-sent events: deployments, "
             "domains, billing, points, campaigns and scope requests. It ends with the login that "
             "opened "
             "it; Last-Event-ID resumes after that event.",
     .guards = {session(), stream_openings},
     .query = account_events_query,
     .answer = {.status = 200, .schema = "AccountEventStream", .content_type = "text/event-stream"},
     .errors = {Code::app_not_found, Code::forbidden, Code::malformed_request},
     .served_by = {.page = "/console"},
     .run = ReadHandler{account_events}},
};

}  // namespace

std::span<const Route> deployment_events_routes() { return rows; }

}  // namespace berth::api
