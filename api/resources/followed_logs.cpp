// The output of the containers of several deployments as one stream. A browser opens few
// connections to a server, and a console in many tabs may show many logs.
#include <algorithm>

#include "api/gate/authenticate.h"
#include "api/gate/event_stream.h"
#include "api/resources/shared.h"
#include "controller/domain/apps/members.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::api {
namespace {

constexpr std::size_t max_followed = 20;  // logs of a stream
// How many existing lines of a log are sent that the caller has none of.
constexpr int first_tail = 5'000;

struct Wish {
  std::string deployment_id;
  std::string after;  // the id of the last line that the caller has; empty if they have none
};

std::vector<Wish> decode_wishes(const std::string& text) {
  const auto refuse = [] {
    throw invalid_field("logs",
                        "must be 1 to 20 ids of deployments, separated by commas, each with or "
                        "without ~ and the id of a line after it");
  };
  std::vector<Wish> wishes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string entry = text.substr(begin, end - begin);
    const std::size_t mark = std::min(entry.find('~'), entry.size());
    Wish wish = {.deployment_id = entry.substr(0, mark),
                 .after = mark < entry.size() ? entry.substr(mark + 1) : ""};
    if (wish.deployment_id.empty() || wish.after.size() > max_event_id_bytes) refuse();
    wishes.push_back(std::move(wish));
    begin = end + 1;
  }
  if (wishes.size() > max_followed) refuse();
  return wishes;
}

// The logs that are being sent.
class LogsStream {
 public:
  // Each log wakes the stream.
  LogsStream(const Call& call, const Services& services, const std::vector<Wish>& wishes,
             const std::shared_ptr<Waker>& waker)
      : services_(services),
        user_id_(call.caller->user_id),
        app_id_(call.caller->app_id),
        is_person_(call.caller->first_party),
        deployments_(call.caller->deployments),
        bearer_(call, services),
        permit_(services.memory.events->admit(bearer_.holder())) {
    for (const Wish& wish : wishes) open(wish, waker);
  }

  Next step(const Sink& sink) {
    if (!bearer_.still_good()) return Next::end;
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ >= bearer_check_interval) {
      looked_ = now;
      end_those_without_a_deployment();
    }
    std::string text = std::exchange(waiting_, "");
    if (logs_.empty() && text.empty()) return Next::end;
    for (Log& log : logs_) read(log, text);
    std::erase_if(logs_, [](const Log& log) { return log.read == nullptr; });
    if (voice_.speak(sink, text)) return Next::more;
    return Next::on_news(
        std::min({bearer_.next_check(), looked_ + bearer_check_interval, voice_.next_heartbeat()}));
  }

 private:
  struct Log {
    std::string deployment_id;
    container_logs::Reader read;  // null once it has ended
  };

  void open(const Wish& wish, const std::shared_ptr<Waker>& waker) {
    try {
      services_.db.read([&](db::Tx& tx) { check(tx, wish.deployment_id); });
      container_logs::Wanted wanted = {.deployment_id = wish.deployment_id,
                                       .follow = container_logs::Follow::yes,
                                       .tail = first_tail,
                                       .on_news = [waker] { waker->wake(); }};
      if (!wish.after.empty()) wanted.after = wish.after;
      logs_.push_back({wish.deployment_id, services_.cluster.container_logs(wanted)});
    } catch (const Error& error) {
      waiting_ += ended(wish.deployment_id, error);
    }
  }
  // A log that can't be read doesn't keep the others from being read.
  void read(Log& log, std::string& text) {
    try {
      const container_logs::Batch batch = log.read(std::chrono::milliseconds(0));
      for (const container_logs::Line& line : batch.lines)
        text += encode_event(
            "line",
            json{{"deployment_id", log.deployment_id}, {"id", line.id}, {"text", line.text}});
      if (batch.problem)
        text += encode_event(
            "problem", json{{"deployment_id", log.deployment_id}, {"message", *batch.problem}});
      if (!batch.ended) return;
      text += encode_event("end", json{{"deployment_id", log.deployment_id}});
    } catch (const Error& error) {
      text += ended(log.deployment_id, error);
    }
    log.read = nullptr;
  }
  static std::string ended(const std::string& id, const Error& error) {
    return encode_event(
        "end", json{{"deployment_id", id}, {"code", name(error.code)}, {"message", error.what()}});
  }
  // Throws unless the caller may read the log at present.
  void check(db::Tx& tx, const std::string& id) const {
    const auto row = app_id_.empty() ? deployments::find(tx, id)
                                     : std::optional(deployments::get_owned(tx, app_id_, id));
    if (!row || (app_id_.empty() && !apps::may_use(tx, user_id_, row->app_id, id)))
      throw Error(Code::deployment_not_found, "there is no such deployment");
    const bool is_excluded =
        !deployments_.empty() && std::ranges::find(deployments_, id) == deployments_.end();
    if (is_excluded || (is_person_ && !apps::may_use(tx, user_id_, row->app_id, id)))
      throw Error(Code::forbidden, "the caller may only use other deployments of the app");
    if (app_id_.empty()) check_app(tx, row->app_id);
    if (row->status == deployments::Status::destroyed)
      throw Error(Code::invalid_state, "the deployment was deleted together with its containers");
  }
  // What the gate would ask of the app if the request named it.
  void check_app(db::Tx& tx, const std::string& app_id) const {
    const apps::Membership own = apps::membership(tx, user_id_, app_id);
    require_not_suspended(tx, own.app, user_id_);
    if (!apps::scopes_of(own.role, own.app.approved_scopes).grants(Scope::logs_read))
      throw Error(Code::insufficient_scope,
                  "the app " + own.app.app_name + " lacks the scope logs:read");
  }
  void end_those_without_a_deployment() {
    services_.db.read([&](db::Tx& tx) {
      for (Log& log : logs_) try {
          check(tx, log.deployment_id);
        } catch (const Error& error) {
          waiting_ += ended(log.deployment_id, error);
          log.read = nullptr;
        }
    });
    std::erase_if(logs_, [](const Log& log) { return log.read == nullptr; });
  }

  const Services& services_;
  const std::string user_id_;
  const std::string app_id_;  // empty: all of the user's apps
  const bool is_person_;      // who calls for themselves, and whose membership may change meanwhile
  const std::vector<std::string> deployments_;  // the only ones for the token; empty: all
  BearerCheck bearer_;
  const std::unique_ptr<EventHub::Permit> permit_;
  std::vector<Log> logs_;
  std::string waiting_;  // to be sent
  Voice voice_{Voice::Heartbeats::yes};
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

Reply followed_logs(const Call& call, const Services& services) {
  const std::vector<Wish> wishes = decode_wishes(call.query("logs").value_or(""));
  const auto waker = std::make_shared<Waker>();
  const auto logs = std::make_shared<LogsStream>(call, services, wishes, waker);
  return event_reply(Stream([logs](const Sink& sink) { return logs->step(sink); }, waker));
}

constexpr Param logs_query[] = {
    {.name = "logs",
     .description = "The ids of the deployments, separated by commas, 20 at most. An id may be "
                    "followed by ~ and the id of a line, after which that log is read; otherwise "
                    "it begins with its last 5000 lines.",
     .example = "01936f5e-7c1a-7000-8000-000000000005",
     .required = true}};

constexpr Route rows[] = {
    {.request = "GET /api/deploy/container-logs",
     .name = "followedLogs",
     .tag = "Deployments",
     .summary = "Follow the output of several deployments' containers on one connection, as "
                "server-sent events",
     .text = "Sends what the containers have written and keep writing, until the token or the last "
             "log ends. A log that ends, or that the caller may not read, doesn't end the others.",
     .guards = {keeping_to_deployments(
                    to_viewers(oauth_token({Scope::logs_read}, Access::ForApp::one_or_all))),
                stream_openings},
     .query = logs_query,
     .answer = {.status = 200, .schema = "FollowedLogs", .content_type = "text/event-stream"},
     .errors = {Code::validation_failed},
     .served_by = {.page = "/console"},
     .run = FreeHandler{followed_logs}},
};

}  // namespace

std::span<const Route> followed_logs_routes() { return rows; }

}  // namespace berth::api
