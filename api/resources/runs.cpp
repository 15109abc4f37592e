// Commands that a deployment runs once, and its crons.
#include "controller/domain/deployments/runs/runs.h"

#include <algorithm>

#include "api/gate/encode.h"
#include "api/gate/event_stream.h"
#include "api/resources/deployments.h"
#include "api/resources/shared.h"
#include "controller/domain/deployments/runs/crons.h"

namespace berth::api {
namespace {

using container_logs::Batch;
using container_logs::Follow;
using container_logs::Line;
using runs::Run;

// How long the answer waits for the beginning of a log that isn't followed.
constexpr std::chrono::seconds first_patience{10};
// How long a stream that is told of nothing waits before it looks at the run again, and before it
// tries again to read a log that can't be read.
constexpr std::chrono::seconds look_interval{2};
// How long a stream waits for the rest of the log of a run that is over.
constexpr std::chrono::seconds rest_patience{10};

json encode_run(const Run& run) {
  return {{"id", run.id},
          {"kind", run.kind},
          {"name", text_or_null(run.name)},
          {"scheduled_at", or_null(run.minute)},
          {"generation", run.generation},
          {"process", run.process},
          {"command", run.command},
          {"image", run.image},
          {"image_digest", or_null(run.image_digest)},
          {"timeout_seconds", run.timeout.count()},
          {"status", run.status},
          {"exit_code", or_null(run.exit_code)},
          {"reason", or_null(run.reason)},
          {"message", or_null(run.message)},
          {"created_by", or_null(run.created_by)},
          {"inserted_at", to_iso8601(run.inserted_at)},
          {"started_at", or_null(run.started_at)},
          {"finished_at", or_null(run.finished_at)}};
}

Run run_in_path(db::Tx& tx, const Call& call) {
  return runs::get_owned(tx, call.caller->app_id, call.id(), call.id("run_id"));
}

Reply create_run(db::Tx& tx, const Call& call, const Services&) {
  runs::Order order = {.command = call.body.at("command").get<runs::Texts>(),
                       .process = text_or_nothing(call.body, "process").value_or("")};
  if (const auto seconds = integer_or_nothing(call.body, "timeout_seconds"))
    order.timeout = std::chrono::seconds(*seconds);
  const Run run = runs::create(tx, actor_of(call), call.id(), order);
  return {.status = 201, .body = {{"run", encode_run(run)}}};
}

Reply list_runs(db::Tx& tx, const Call& call, const Services&) {
  const auto row = deployments::get_owned(tx, call.caller->app_id, call.id());
  return {.body = encode_page("runs", runs::list(tx, row.id, call.page()), encode_run)};
}

Reply get_run(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"run", encode_run(run_in_path(tx, call))}}};
}

Reply cancel_run(db::Tx& tx, const Call& call, const Services&) {
  const Run run = runs::cancel(tx, actor_of(call), call.id(), call.id("run_id"));
  return {.body = {{"run", encode_run(run)}}};
}

json encode_cron(const crons::State& cron) {
  json last = nullptr;
  if (cron.last)
    last = {{"run_id", cron.last->id},
            {"status", cron.last->status},
            {"exit_code", or_null(cron.last->exit_code)},
            {"finished_at", or_null(cron.last->finished_at)}};
  return {{"name", cron.name},
          {"schedule", cron.schedule},
          {"zone", cron.zone},
          {"next_at", or_null(cron.next_at)},
          {"last", std::move(last)},
          {"skipped_at", or_null(cron.skipped_at)},
          {"skipped", or_null(cron.skipped)}};
}

Reply list_crons(db::Tx& tx, const Call& call, const Services&) {
  const auto row = deployments::get_owned(tx, call.caller->app_id, call.id());
  json list = json::array();
  for (const crons::State& cron : crons::states(tx, row)) list.push_back(encode_cron(cron));
  return {.body = {{"crons", std::move(list)}}};
}

Reply run_cron(db::Tx& tx, const Call& call, const Services&) {
  const Run run = crons::start(tx, actor_of(call), call.id(), call.path.at("name"));
  return {.status = 201, .body = {{"run", encode_run(run)}}};
}

// The lines of a log that was kept.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view line = text.substr(begin, end - begin);
    const std::size_t tab = line.find('\t');
    const bool has_text = tab != std::string_view::npos;
    lines.push_back({.id = std::string(line.substr(0, tab)),
                     .text = has_text ? std::string(line.substr(tab + 1)) : std::string()});
    begin = end + 1;
  }
  return lines;
}

// The log of a run that is being sent: from its container while it is there, and then what was kept
// of it.
class RunLogStream {
 public:
  RunLogStream(const Call& call, const Services& services, const Run& run, Follow follow, int tail)
      : services_(services),
        id_(run.id),
        follow_(follow),
        tail_(tail),
        as_events_(call.http.headers.mentions("Accept", "text/event-stream")),
        after_(last_event_id(call.http)),
        bearer_(call, services),
        permit_(services.memory.events->admit(bearer_.holder())),
        changes_(services.memory.events->subscribe(db::Topic::run, id_, waker_)) {
    if (runs::is_over(run.status)) return;
    // A log that isn't followed and can't be read is an error, so its answer begins only then.
    open(run);
    if (read_ && follow_ == Follow::no) first_ = read_(first_patience);
  }

  const std::shared_ptr<Waker>& waker() const { return waker_; }
  bool as_events() const { return as_events_; }

  Next step(const Sink& sink) {
    if (!bearer_.still_good()) return Next::end;
    changes_->take_news();
    const auto [run, kept] = services_.db.read(
        [&](db::Tx& tx) { return std::pair(runs::find(tx, id_), runs::log_of(tx, id_)); });
    if (!run) return Next::end;
    const bool is_over = runs::is_over(run->status);
    std::string text = is_over ? "" : status_if_new(*run);
    bool ends = false;
    if (kept) {
      text += written(rest_of(lines_of(kept->lines)));
      ends = true;
    } else {
      if (!read_ && !read_ended_ && follow_ == Follow::yes && !is_over) try_to_open(*run);
      text += read_some();
      ends = follow_ == Follow::no ? !read_ : is_over && (read_ended_ || has_waited(*run));
    }
    if (ends) {
      if (as_events_) text += status_event(*run);
      if (!text.empty()) sink(text);
      return Next::end;
    }
    if (voice_.speak(sink, text)) return Next::more;
    return Next::on_news(std::chrono::steady_clock::now() + look_interval);
  }

 private:
  void open(const Run& run) {
    try {
      read_ = services_.cluster.container_logs({.deployment_id = run.deployment_id,
                                                .follow = follow_,
                                                .tail = tail_,
                                                .after = after_,
                                                .run_id = run.id,
                                                .on_news = [waker = waker_] { waker->wake(); }});
    } catch (const Error& refused) {
      if (refused.code != Code::invalid_state) throw;  // it has no container yet
    }
  }
  void try_to_open(const Run& run) {
    const ClaimantOfThread of_request(claimant_);  // the thread is one of many streams
    try {
      open(run);
    } catch (const Error&) {
      // It is tried again; what was kept of the log comes in any case.
    }
  }
  // Whether the rest of the log of a run that is over wasn't kept in time.
  bool has_waited(const Run& run) {
    const auto now = std::chrono::steady_clock::now();
    if (!over_since_) over_since_ = now;
    return now - *over_since_ >= rest_patience ||
           services_.clock.now() - *run.finished_at >= rest_patience;
  }
  // Reads from the container, as long as that can be read.
  std::string read_some() {
    if (!read_) return "";
    try {
      const Batch batch =
          first_ ? *std::exchange(first_, std::nullopt) : read_(std::chrono::milliseconds(0));
      if (batch.ended) {
        read_ = nullptr;
        read_ended_ = true;
      }
      return written(batch.lines);
    } catch (const Error&) {
      if (follow_ == Follow::no) throw;
      read_ = nullptr;
      return "";
    }
  }
  // What is left of a log that was kept.
  std::vector<Line> rest_of(std::vector<Line> lines) const {
    if (after_) {
      const auto last = std::ranges::find(lines, *after_, &Line::id);
      if (last != lines.end()) lines.erase(lines.begin(), last + 1);
    } else if (lines.size() > std::size_t(tail_)) {
      lines.erase(lines.begin(), lines.end() - tail_);
    }
    return lines;
  }
  std::string written(const std::vector<Line>& lines) {
    std::string text;
    for (const Line& line : lines) {
      text += as_events_ ? encode_event({.id = line.id, .name = "", .data = line.text})
                         : line.text + "\n";
      after_ = line.id;
    }
    return text;
  }
  std::string status_event(const Run& run) const { return encode_event("status", encode_run(run)); }
  // The last status comes after the last line.
  std::string status_if_new(const Run& run) {
    if (!as_events_ || shown_ == run.status) return "";
    shown_ = run.status;
    return status_event(run);
  }

  const Services& services_;
  const Claimant claimant_ = Claimant::of_thread();
  const std::string id_;
  const Follow follow_;
  const int tail_;
  const bool as_events_;
  std::optional<std::string> after_;  // the id of the last line that was sent
  BearerCheck bearer_;
  const std::unique_ptr<EventHub::Permit> permit_;
  const std::shared_ptr<Waker> waker_ = std::make_shared<Waker>();
  const std::unique_ptr<EventHub::Subscription> changes_;
  container_logs::Reader read_;
  std::optional<Batch> first_;
  bool read_ended_ = false;
  std::optional<std::chrono::steady_clock::time_point> over_since_;
  std::optional<runs::Status> shown_;
  Voice voice_{as_events_ ? Voice::Heartbeats::yes : Voice::Heartbeats::no};
};

Follow follow_of(const Call& call) {
  const auto text = call.query("follow");
  if (!text || *text == "false" || *text == "0") return Follow::no;
  if (text->empty() || *text == "true" || *text == "1") return Follow::yes;
  throw invalid_field("follow", "must be true or false");
}

Reply run_log(const Call& call, const Services& services) {
  const Run run = services.db.read([&](db::Tx& tx) { return run_in_path(tx, call); });
  const int tail = int(call.number("tail").value_or(container_logs::max_tail));
  const auto log = std::make_shared<RunLogStream>(call, services, run, follow_of(call), tail);
  Reply reply =
      event_reply(Stream([log](const Sink& sink) { return log->step(sink); }, log->waker()));
  if (!log->as_events()) reply.content_type.clear();
  return reply;
}

constexpr Placeholder run_id_in_path = {"RunId", "The id of the run.",
                                        "01936f5e-7c1a-7000-8000-0000000000c1"};
constexpr Placeholder cron_in_path = {"CronName", "The name of the cron.", "nightly", Kind::text};
constexpr Errors owned = {Code::deployment_not_found, Code::forbidden};
constexpr Errors owned_run = {Code::run_not_found, Code::deployment_not_found, Code::forbidden};

constexpr Param log_query[] = {
    {.name = "follow",
     .description = "If it is true, new lines are sent as they come, until the run is over.",
     .example = "true"},
    {.name = "tail",
     .description =
         "The greatest number of existing lines to send, 0 to 10000. The default is 10000.",
     .example = "100",
     .kind = Kind::integer,
     .most = container_logs::max_tail,
     .range_in_words = true}};

constexpr Route rows[] = {
    {.request = "POST /api/deploy/apps/{id}/runs",
     .name = "createRun",
     .tag = "Runs",
     .summary = "Run a command once, in a container of its own",
     .text =
         "Runs a command with the image and the variables of the rollout that ran last, in a "
         "container of its own, which has the size of one of the process. It takes no requests and "
         "is removed when the command ends. A deployment has at most 5 runs under way, and an "
         "account 50. On a tier with a price by the hour the container costs what one of the "
         "deployment costs, and the points for its first hour are held. A deployment that is "
         "stopped runs no commands: 409 invalid_state.",
     .guards = {to_developers(changes_deployments), deploy_writes},
     .stores = Stores::deployments,
     .in_path = {&deployment_in_path},
     .body = {"CreateRunRequest"},
     .answer = {201, "RunEnvelope"},
     .errors = {Code::deployment_not_found, Code::forbidden, Code::deployment_destroyed,
                Code::deployment_suspended, Code::invalid_state, Code::run_limit_reached,
                Code::insufficient_balance, Code::budget_reached},
     .idempotency = Idempotency::kept,
     .served_by = {"berth run", "/console"},
     .run = WriteHandler{create_run}},
    {.request = "GET /api/deploy/apps/{id}/runs",
     .name = "listRuns",
     .tag = "Runs",
     .summary = "List a deployment's runs: its commands, releases and crons",
     .text = "Lists runs, newest first: those that are under way, and the newest 200 of the last "
             "30 days that are over.",
     .guards = {to_viewers(reads_deployments), deploy_reads},
     .in_path = {&deployment_in_path},
     .paged = true,
     .answer = {200, "RunList"},
     .errors = owned,
     .served_by = {"berth runs list", "/console"},
     .run = ReadHandler{list_runs}},
    {.request = "GET /api/deploy/apps/{id}/runs/{run_id}",
     .name = "getRun",
     .tag = "Runs",
     .summary = "A run of a deployment",
     .text = "Returns a run.",
     .guards = {to_viewers(reads_deployments), deploy_reads},
     .in_path = {&deployment_in_path, &run_id_in_path},
     .answer = {200, "RunEnvelope"},
     .errors = owned_run,
     .read_committed = true,
     .served_by = {"berth runs get", "/console"},
     .run = ReadHandler{get_run}},
    {.request = "GET /api/deploy/apps/{id}/runs/{run_id}/logs",
     .name = "runLog",
     .tag = "Runs",
     .summary = "Read a run's output: as lines of text, or with Accept: text/event-stream as "
                "server-sent events, where Last-Event-ID resumes after that line",
     .text = "Returns what the command has written: of a run that is over, the last 64 KiB. With "
             "follow=true it continues until the run is over, also if it hasn't started yet.",
     .guards = {to_viewers(reads_logs), stream_openings},
     .in_path = {&deployment_in_path, &run_id_in_path},
     .query = log_query,
     .answer = {.status = 200,
                .schema = "RunLog",
                .content_type = "text/plain; charset=utf-8",
                .by_accept = "text/event-stream"},
     .errors = {Code::run_not_found, Code::deployment_not_found, Code::forbidden,
                Code::malformed_request},
     .served_by = {"berth runs log", "/console"},
     .run = FreeHandler{run_log}},
    {.request = "DELETE /api/deploy/apps/{id}/runs/{run_id}",
     .name = "cancelRun",
     .tag = "Runs",
     .summary = "Cancel a run",
     .text = "Ends a run that isn't over: its container gets SIGTERM, and is removed. A rollout "
             "whose release command is cancelled doesn't begin. Does nothing if the run is over.",
     .guards = {to_developers(changes_deployments), deploy_writes},
     .stores = Stores::nothing,
     .in_path = {&deployment_in_path, &run_id_in_path},
     .answer = {200, "RunEnvelope"},
     .errors = owned_run,
     .served_by = {"berth runs cancel", "/console"},
     .run = WriteHandler{cancel_run}},
    {.request = "GET /api/deploy/apps/{id}/crons",
     .name = "listCrons",
     .tag = "Runs",
     .summary = "List a deployment's crons, with when they run next",
     .text = "Lists the commands at set times from the deployment's field crons, each with its "
             "newest run. A minute has no run while the last one isn't over, while the deployment "
             "has 5 runs under way, and if the points for it are missing: then `skipped` says so.",
     .guards = {to_viewers(reads_deployments), deploy_reads},
     .in_path = {&deployment_in_path},
     .answer = {200, "CronList"},
     .errors = owned,
     .served_by = {"berth crons list", "/console"},
     .run = ReadHandler{list_crons}},
    {.request = "POST /api/deploy/apps/{id}/crons/{name}/runs",
     .name = "runCron",
     .tag = "Runs",
     .summary = "Run a cron's command now",
     .text = "Does what the cron does at its minutes, which stay as they are. It is refused while "
             "the cron's last run isn't over, and like any other run.",
     .guards = {to_developers(changes_deployments), deploy_writes},
     .stores = Stores::deployments,
     .in_path = {&deployment_in_path, &cron_in_path},
     .answer = {201, "RunEnvelope"},
     .errors = {Code::cron_not_found, Code::deployment_not_found, Code::forbidden,
                Code::deployment_destroyed, Code::deployment_suspended, Code::invalid_state,
                Code::run_limit_reached, Code::insufficient_balance, Code::budget_reached},
     .idempotency = Idempotency::kept,
     .served_by = {"berth crons run", "/console"},
     .run = WriteHandler{run_cron}},
};

}  // namespace

std::span<const Route> runs_routes() { return rows; }

}  // namespace berth::api
