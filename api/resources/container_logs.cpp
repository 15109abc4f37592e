// The output of a deployment's containers, also as a stream.
#include <algorithm>

#include "api/gate/event_stream.h"
#include "api/resources/shared.h"
#include "controller/base/text.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::api {
namespace {

using container_logs::Batch;
using container_logs::Wanted;

constexpr std::int64_t nanoseconds = 1'000'000'000;
constexpr std::int64_t longest_ago = 366LL * 24 * 3600;

// How long the answer waits for the beginning of a log that isn't followed.
constexpr std::chrono::seconds first_patience{10};

enum class Form { text, events };

bool flag(const Call& call, const char* name) {
  const auto text = call.query(name);
  if (!text || *text == "false" || *text == "0") return false;
  if (text->empty() || *text == "true" || *text == "1") return true;
  throw invalid_field(name, "must be true or false");
}

std::optional<std::int64_t> number(std::string_view text, std::int64_t most) {
  const auto value = parse_number<std::int64_t>(text);
  return value && *value >= 0 && *value <= most ? value : std::nullopt;
}

// Parses a duration: 90 (seconds), or numbers with their units, the largest first, as in 1d, 2h or
// 1h30m. Returns it in seconds; nothing if the text is none, or longer than a year.
std::optional<std::int64_t> parse_duration(std::string_view text) {
  if (const auto seconds = number(text, longest_ago)) return seconds;
  std::int64_t sum = 0;
  bool has_any = false;
  for (const auto& [name, seconds] :
       {std::pair('d', 86'400), std::pair('h', 3600), std::pair('m', 60), std::pair('s', 1)}) {
    const size_t end = text.find(name);
    if (end == std::string_view::npos) continue;
    const auto count = number(text.substr(0, end), longest_ago / seconds);
    if (!count) return std::nullopt;
    sum += *count * seconds;
    text.remove_prefix(end + 1);
    has_any = true;
  }
  return has_any && text.empty() && sum <= longest_ago ? std::optional(sum) : std::nullopt;
}

// Parses a duration before `now` or a time.
std::int64_t decode_since(const std::string& text, Instant now) {
  const auto at = [](Instant instant) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(instant.time_since_epoch()).count();
  };
  // A number comes first: eight digits could be a date as well.
  if (const auto seconds = parse_duration(text)) return at(now) - *seconds * nanoseconds;
  const auto instant = parse_iso8601(text);
  if (!instant || to_millis(*instant) < 0)
    throw invalid_field("since",
                        "must be a time, or days, hours, minutes and seconds, such as 90s, 1h30m "
                        "or 2d");
  return at(*instant);
}

// Uses the machine's clock instead of berth's, because the cluster uses it too.
Wanted decode(const Call& call, const std::string& id) {
  Wanted wanted = {
      .deployment_id = id,
      .run = flag(call, "previous") ? container_logs::Run::previous : container_logs::Run::current,
      .follow = flag(call, "follow") ? container_logs::Follow::yes : container_logs::Follow::no};
  if (wanted.run == container_logs::Run::previous && wanted.follow == container_logs::Follow::yes)
    throw invalid_field("follow",
                        "can't be combined with previous, because the previous run has ended");
  wanted.instance = call.query("instance");
  wanted.process = call.query("process");
  if (const auto since = call.query("since")) {
    wanted.since = decode_since(*since, Clock().now());
    wanted.tail = container_logs::max_tail;
  }
  if (const auto tail = call.number("tail")) wanted.tail = int(*tail);
  wanted.after = last_event_id(call.http);
  return wanted;
}

Form form_of(const Request& request) {
  return request.headers.mentions("Accept", "text/event-stream") ? Form::events : Form::text;
}

// One log that is being sent.
class LogStream {
 public:
  // `wanted` wakes the stream.
  LogStream(const Call& call, const Services& services, const Wanted& wanted, Form form)
      : services_(services),
        id_(wanted.deployment_id),
        form_(form),
        bearer_(call, services),
        permit_(services.memory.events->admit(bearer_.holder())),
        read_(services.cluster.container_logs(wanted)) {
    // If the log can't be read, the answer is an error, so the answer begins only once a part of
    // the log has arrived.
    if (wanted.follow == container_logs::Follow::no) first_ = read_(first_patience);
  }

  Next step(const Sink& sink) {
    if (!bearer_.still_good()) return Next::end;
    const Batch batch =
        first_ ? *std::exchange(first_, std::nullopt) : read_(std::chrono::milliseconds(0));
    std::string text;
    if (batch.problem && form_ == Form::events)
      text += encode_event("problem", json{{"message", *batch.problem}});
    for (const container_logs::Line& line : batch.lines)
      text += form_ == Form::events ? encode_event({.id = line.id, .name = "", .data = line.text})
                                    : line.text + "\n";
    if (batch.ended) return Next::end;
    if (text.empty()) return idle(sink);
    voice_.speak(sink, text);
    return Next::more;
  }

 private:
  Next idle(const Sink& sink) {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ >= bearer_check_interval) {
      looked_ = now;
      if (is_destroyed()) return Next::end;
    }
    voice_.speak(sink, "");
    return Next::on_news(
        std::min({bearer_.next_check(), looked_ + bearer_check_interval, voice_.next_heartbeat()}));
  }
  bool is_destroyed() const {
    return services_.db.read([&](db::Tx& tx) {
      const auto row = deployments::find(tx, id_);
      return !row || row->status == deployments::Status::destroyed;
    });
  }

  const Services& services_;
  const std::string id_;
  const Form form_;
  BearerCheck bearer_;
  const std::unique_ptr<EventHub::Permit> permit_;
  const container_logs::Reader read_;
  std::optional<Batch> first_;
  Voice voice_{form_ == Form::events ? Voice::Heartbeats::yes : Voice::Heartbeats::no};
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

Reply container_log(const Call& call, const Services& services) {
  const std::string id = services.db.read([&](db::Tx& tx) {
    const auto row = deployments::get_owned(tx, call.caller->app_id, call.id());
    if (row.status == deployments::Status::destroyed)
      throw Error(Code::invalid_state, "the deployment was deleted together with its containers");
    return row.id;
  });
  const auto waker = std::make_shared<Waker>();
  Wanted wanted = decode(call, id);
  wanted.on_news = [waker] { waker->wake(); };
  const Form form = form_of(call.http);
  const auto log = std::make_shared<LogStream>(call, services, wanted, form);
  Reply reply = event_reply(Stream([log](const Sink& sink) { return log->step(sink); }, waker));
  if (form == Form::text) reply.content_type.clear();
  return reply;
}

constexpr Param container_logs_query[] = {
    {.name = "follow",
     .description = "If it is true, new lines are sent as they come, also after restarts "
                    "and rollouts.",
     .example = "true"},
    {.name = "tail",
     .description =
         "The greatest number of existing lines to send, 0 to 10000. The default is 1000.",
     .example = "100",
     .kind = Kind::integer,
     .most = container_logs::max_tail,
     .range_in_words = true},
    {.name = "since",
     .description = "Returns only lines since a time (2026-01-31T12:00:00Z) or a duration ago (90, "
                    "90s, 1h30m, 2d).",
     .example = "15m"},
    {.name = "previous",
     .description = "If it is true, the output of the run before the last crash is returned.",
     .example = "true"},
    {.name = "instance",
     .description =
         "The name of one of the deployment's containers (instances): only its output is "
         "returned. Without it, all containers are read together, 10 at most, and with previous "
         "the newest of them.",
     .example = "berth-01936f5e-7d9f8b6c5-x2x7q"},
    {.name = "process",
     .description = "The name of one of the deployment's processes: only its containers are read.",
     .example = "worker"}};

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps/{id}/container-logs",
     .name = "containerLogs",
     .tag = "Deployments",
     .summary =
         "Read the container's output: as lines of text, or with Accept: text/event-stream as "
         "server-sent events, where Last-Event-ID resumes after that line",
     .text =
         "Returns what the container has written. With follow=true it continues with new lines, "
         "across restarts and rollouts, until the token ends or the deployment is deleted. A log "
         "that can't be read is 503, with the name of what failed (the node's kubelet, or the API "
         "server); while a stream of events is followed, an event `problem` with a "
         "`message` says so, once it has lasted for 5 seconds, and berthd keeps trying.",
     .guards = {reads_logs, stream_openings},
     .in_path = {&deployment_in_path},
     .query = container_logs_query,
     .answer = {.status = 200,
                .schema = "ContainerLog",
                .content_type = "text/plain; charset=utf-8",
                .by_accept = "text/event-stream"},
     .errors = {Code::deployment_not_found, Code::forbidden, Code::malformed_request,
                Code::invalid_state},
     .served_by = {"berth deploy logs", "/console"},
     .run = FreeHandler{container_log}},
};

}  // namespace

std::span<const Route> container_logs_routes() { return rows; }

}  // namespace berth::api
