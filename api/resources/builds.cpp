// Images that are built from source on berthd's own machine.
#include "controller/domain/deployments/builds/builds.h"

#include "api/gate/encode.h"
#include "api/gate/event_stream.h"
#include "api/resources/deployments.h"
#include "api/resources/shared.h"
#include "controller/base/id.h"
#include "controller/base/log.h"
#include "controller/base/source_archive.h"
#include "controller/base/text.h"

namespace berth::api {
namespace {

using builds::Build;

// How much of a log is read and sent at once.
constexpr std::size_t log_piece_bytes = 64 * 1024;
// How long a stream waits before it looks for more of a log.
constexpr std::chrono::milliseconds log_patience{200};

json encode_build(const Build& build) {
  return {{"id", build.id},
          {"name", build.name},
          {"status", build.status},
          {"reason", or_null(build.reason)},
          {"message", or_null(build.message)},
          {"image", build.image.value_or(builds::repository(build.app_id, build.name))},
          {"image_removed_at", or_null(build.image_removed_at)},
          {"source_bytes", build.source_bytes},
          {"image_bytes", build.image_bytes},
          {"log_bytes", build.log_bytes},
          {"points", build.points},
          {"points_per_minute", build.price},
          {"initiated_by", build.initiated_by},
          {"inserted_at", to_iso8601(build.inserted_at)},
          {"started_at", or_null(build.started_at)},
          {"ended_at", or_null(build.ended_at)}};
}

const Builds& builder_of(const Services& services) {
  if (services.cluster.builds) return *services.cluster.builds;
  throw Error(Code::builds_unavailable,
              "this berthd builds no images; `berth up . --local` builds with the podman, docker "
              "or buildah of your own machine, pushes the image to a registry and deploys it");
}

// Returns the app's build that the path names, which belongs to the deployment if the path names
// one, too.
Build build_in_path(db::Tx& tx, const Call& call) {
  Build build = builds::get_owned(tx, call.caller->app_id, call.id("build_id"));
  if (!call.path.contains("id")) return build;
  const auto deployment = deployments::get_owned(tx, call.caller->app_id, call.id());
  if (build.name != deployment.name)
    throw Error(Code::build_not_found, "the deployment has no such build");
  return build;
}

// What is built, without its source.
builds::Order order_of(const Call& call, const Services& services) {
  if (!call.path.contains("id"))
    return {.id = {}, .name = *call.query("name"), .tier = call.query("tier").value_or("")};
  return services.db.read([&](db::Tx& tx) {
    const auto deployment = deployments::get_owned(tx, call.caller->app_id, call.id());
    if (deployment.status == deployments::Status::destroyed)
      throw Error(Code::deployment_destroyed, "the deployment was deleted");
    return builds::Order{.id = {}, .name = deployment.name, .tier = deployment.tier_slug};
  });
}

// The source is where the build will look for it before its row is there.
Reply create_build(const Call& call, const Services& services) {
  const Builds& builder = builder_of(services);
  builds::Order order = order_of(call, services);
  const auto& file = call.http.file;
  if (!file || file->bytes() == 0)
    throw Error(Code::malformed_request, "the body must be a tar archive with the source");
  try {
    source::examine(file->path());
  } catch (const source::BadArchive& bad) {
    throw Error(Code::malformed_request, bad.what());
  }
  order.id = new_uuid(services.clock.now());
  order.source_bytes = std::int64_t(file->bytes());
  builder.keep(order.id, file->path());
  try {
    const Build build = services.db.write(
        [&](db::Tx& tx) { return builds::create(tx, actor_of(call), order, builder.limits); });
    return {.status = 201, .body = {{"build", encode_build(build)}}};
  } catch (...) {
    builder.forget(order.id);
    throw;
  }
}

json encode_limits(const Services& services) {
  const auto& builder = services.cluster.builds;
  if (!builder) return nullptr;
  return {{"source_bytes", builder->max_source_bytes},
          {"seconds", builder->limits.time.count()},
          {"storage_bytes", builder->limits.storage_bytes}};
}

Reply list_builds(db::Tx& tx, const Call& call, const Services& services) {
  std::string name = call.query("name").value_or("");
  if (call.path.contains("id"))
    name = deployments::get_owned(tx, call.caller->app_id, call.id()).name;
  json body =
      encode_page("builds", builds::list(tx, call.caller->app_id, name, call.page()), encode_build);
  body["limits"] = encode_limits(services);
  return {.body = std::move(body)};
}

Reply get_build(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"build", encode_build(build_in_path(tx, call))}}};
}

Reply cancel_build(db::Tx& tx, const Call& call, const Services&) {
  const Build build = build_in_path(tx, call);
  return {.body = {{"build", encode_build(builds::cancel(tx, actor_of(call), build.id))}}};
}

// The log of a build that is being sent.
class BuildLogStream {
 public:
  BuildLogStream(const Call& call, const Services& services, const Build& build, bool follow)
      : services_(services),
        id_(build.id),
        follows_(follow),
        as_events_(call.http.headers.mentions("Accept", "text/event-stream")),
        at_(std::uint64_t(last_event_number(call.http).value_or(0))),
        bearer_(call, services),
        permit_(services.memory.events->admit(bearer_.holder())),
        changes_(services.memory.events->subscribe(db::Topic::build, id_, waker_)) {}

  const std::shared_ptr<Waker>& waker() const { return waker_; }
  bool as_events() const { return as_events_; }

  Next step(const Sink& sink) {
    if (!bearer_.still_good()) return Next::end;
    changes_->take_news();
    // The log of a build that is over is complete, so its status is read first.
    const auto build = services_.db.read([&](db::Tx& tx) { return builds::find(tx, id_); });
    if (!build) return Next::end;
    const bool ends = !follows_ || builds::is_over(build->status);
    std::string text = status_if_new(*build, ends);
    const bool has_more = add_lines(text, ends);
    if (ends && !has_more) {
      if (as_events_) text += status_event(*build);
      if (!text.empty()) sink(text);
      return Next::end;
    }
    if (voice_.speak(sink, text)) return Next::more;
    return Next::on_news(std::chrono::steady_clock::now() + log_patience);
  }

 private:
  std::string status_event(const Build& build) const {
    return encode_event("status", encode_build(build));
  }
  // The last status comes after the last line.
  std::string status_if_new(const Build& build, bool ends) {
    if (!as_events_ || ends || shown_ == build.status) return "";
    shown_ = build.status;
    return status_event(build);
  }
  // Adds the lines that are complete, and at the log's end what follows them. Returns whether there
  // may be more to read at once.
  bool add_lines(std::string& text, bool is_complete) {
    std::string piece =
        services_.cluster.builds ? services_.cluster.builds->log(id_, at_, log_piece_bytes) : "";
    const bool is_full = piece.size() == log_piece_bytes;
    if (!is_complete || is_full) {
      const std::size_t end = piece.rfind('\n');
      // A line as long as a piece is cut.
      if (end != std::string::npos || !is_full)
        piece.resize(end == std::string::npos ? 0 : end + 1);
    }
    for (std::string_view rest = piece; !rest.empty();) {
      const std::size_t size = std::min(rest.find('\n'), rest.size());
      at_ += std::min(size + 1, rest.size());
      const std::string line(rest.substr(0, size));
      text += as_events_ ? encode_event({.id = std::to_string(at_), .name = "", .data = line})
                         : line + "\n";
      rest.remove_prefix(std::min(size + 1, rest.size()));
    }
    return is_full;
  }

  const Services& services_;
  const std::string id_;
  const bool follows_;
  const bool as_events_;
  std::uint64_t at_;  // the byte of the log after what was sent
  BearerCheck bearer_;
  const std::unique_ptr<EventHub::Permit> permit_;
  const std::shared_ptr<Waker> waker_ = std::make_shared<Waker>();
  const std::unique_ptr<EventHub::Subscription> changes_;
  std::optional<builds::Status> shown_;
  Voice voice_{as_events_ ? Voice::Heartbeats::yes : Voice::Heartbeats::no};
};

bool follows(const Call& call) {
  const auto text = call.query("follow");
  if (!text || *text == "false" || *text == "0") return false;
  if (text->empty() || *text == "true" || *text == "1") return true;
  throw invalid_field("follow", "must be true or false");
}

Reply build_log(const Call& call, const Services& services) {
  const Build build = services.db.read([&](db::Tx& tx) { return build_in_path(tx, call); });
  const auto log = std::make_shared<BuildLogStream>(call, services, build, follows(call));
  Reply reply =
      event_reply(Stream([log](const Sink& sink) { return log->step(sink); }, log->waker()));
  if (!log->as_events()) reply.content_type.clear();
  return reply;
}

constexpr Placeholder build_in_path_of = {"BuildId", "The id of the build.",
                                          "01936f5e-7c1a-7000-8000-0000000000b1"};
constexpr Errors refusals_of_source = {
    Code::malformed_request,    Code::validation_failed,   Code::unknown_tier,
    Code::tier_not_allowed,     Code::subdomain_taken,     Code::builds_unavailable,
    Code::insufficient_balance, Code::build_limit_reached, Code::payment_method_unsupported};
constexpr Errors refusals_of_next_source = {
    Code::malformed_request,    Code::deployment_not_found,      Code::forbidden,
    Code::deployment_destroyed, Code::builds_unavailable,        Code::insufficient_balance,
    Code::build_limit_reached,  Code::payment_method_unsupported};
constexpr Errors owned_build = {Code::build_not_found, Code::forbidden};
constexpr Errors owned_by_deployment = {Code::build_not_found, Code::deployment_not_found,
                                        Code::forbidden};

constexpr Param first_query[] = {
    {.name = "name",
     .description = "The name of the deployment that the image is for, which needn't exist yet.",
     .example = "hello",
     .required = true},
    {.name = "tier",
     .description = "The tier by which the build is priced; that of the deployment counts if there "
                    "is one.",
     .example = "free",
     .required = true}};
constexpr Param name_query[] = {{.name = "name",
                                 .description = "Returns only builds for this deployment's name.",
                                 .example = "hello"}};
constexpr Param log_query[] = {
    {.name = "follow",
     .description = "If it is true, new lines are sent as they come, until the build has ended.",
     .example = "true"}};

constexpr std::string_view text_of_creation =
    "Receives a source, and builds the image of its Containerfile or Dockerfile on berthd's "
    "machine, where it is cut off from the machine and from other tenants. Builds of an app run "
    "one "
    "after the other. A build doesn't deploy anything: its image is deployed like any other, by "
    "this app alone, and is removed an hour after no deployment needs it. Each minute that has "
    "begun costs the tier's build_points_per_minute, which is taken from the app's balance when "
    "the build ends. Repeating the request makes another build.";

constexpr Route rows[] = {
    {.request = "POST /api/deploy/builds",
     .name = "createFirstBuild",
     .tag = "Builds",
     .summary = "Build an image from source, for a deployment that needn't exist yet",
     .text = text_of_creation,
     .guards = {changes_deployments, deploy_writes},
     .stores = Stores::deployments,
     .query = first_query,
     .archive = "SourceArchive",
     .answer = {201, "BuildEnvelope"},
     .errors = refusals_of_source,
     .served_by = {"berth up"},
     .run = FreeHandler{create_build}},
    {.request = "GET /api/deploy/builds",
     .name = "listBuilds",
     .tag = "Builds",
     .summary = "List the app's builds, and what berthd allows",
     .text = "Lists builds, newest first, of the last 30 days or while their image is there.",
     .guards = {reads_deployments, deploy_reads},
     .paged = true,
     .query = name_query,
     .answer = {200, "BuildList"},
     .served_by = {"berth builds list"},
     .run = ReadHandler{list_builds}},
    {.request = "GET /api/deploy/builds/{build_id}",
     .name = "getBuild",
     .tag = "Builds",
     .summary = "A build",
     .text = "Returns a build of the app.",
     .guards = {reads_deployments, deploy_reads},
     .in_path = {&build_in_path_of},
     .answer = {200, "BuildEnvelope"},
     .errors = owned_build,
     .read_committed = true,
     .served_by = {"berth builds get"},
     .run = ReadHandler{get_build}},
    {.request = "GET /api/deploy/builds/{build_id}/logs",
     .name = "buildLog",
     .tag = "Builds",
     .summary = "Read a build's log: as lines of text, or with Accept: text/event-stream as "
                "server-sent events, where Last-Event-ID resumes after that line",
     .text = "Returns what the build has written so far. With follow=true it continues until the "
             "build has ended.",
     .guards = {reads_logs, stream_openings},
     .in_path = {&build_in_path_of},
     .query = log_query,
     .answer = {.status = 200,
                .schema = "BuildLog",
                .content_type = "text/plain; charset=utf-8",
                .by_accept = "text/event-stream"},
     .errors = {Code::build_not_found, Code::forbidden, Code::malformed_request},
     .served_by = {"berth builds logs"},
     .run = FreeHandler{build_log}},
    {.request = "DELETE /api/deploy/builds/{build_id}",
     .name = "cancelBuild",
     .tag = "Builds",
     .summary = "Cancel a build",
     .text = "Ends a build that is waiting or running; the time that it took is charged. Does "
             "nothing if the build has ended.",
     .guards = {changes_deployments, deploy_writes},
     .stores = Stores::nothing,
     .in_path = {&build_in_path_of},
     .answer = {200, "BuildEnvelope"},
     .errors = owned_build,
     .served_by = {"berth builds cancel"},
     .run = WriteHandler{cancel_build}},
    {.request = "POST /api/deploy/apps/{id}/builds",
     .name = "createBuild",
     .tag = "Builds",
     .summary = "Build an image from source, for a deployment",
     .text = text_of_creation,
     .guards = {changes_deployments, deploy_writes},
     .stores = Stores::deployments,
     .in_path = {&deployment_in_path},
     .archive = "SourceArchive",
     .answer = {201, "BuildEnvelope"},
     .errors = refusals_of_next_source,
     .served_by = {"berth up"},
     .run = FreeHandler{create_build}},
    {.request = "GET /api/deploy/apps/{id}/builds",
     .name = "listBuildsOfDeployment",
     .tag = "Builds",
     .summary = "List a deployment's builds",
     .text = "Lists the builds for the deployment's name, newest first.",
     .guards = {reads_deployments, deploy_reads},
     .in_path = {&deployment_in_path},
     .paged = true,
     .answer = {200, "BuildList"},
     .errors = {Code::deployment_not_found, Code::forbidden},
     .served_by = {"berth builds list", "/console"},
     .run = ReadHandler{list_builds}},
    {.request = "GET /api/deploy/apps/{id}/builds/{build_id}",
     .name = "getBuildOfDeployment",
     .tag = "Builds",
     .summary = "A build of a deployment",
     .text = "Returns a build for the deployment's name.",
     .guards = {reads_deployments, deploy_reads},
     .in_path = {&deployment_in_path, &build_in_path_of},
     .answer = {200, "BuildEnvelope"},
     .errors = owned_by_deployment,
     .served_by = {"berth builds get", "/console"},
     .run = ReadHandler{get_build}},
    {.request = "GET /api/deploy/apps/{id}/builds/{build_id}/logs",
     .name = "buildLogOfDeployment",
     .tag = "Builds",
     .summary = "Read the log of a deployment's build",
     .text = "Does what the operation without the deployment does.",
     .guards = {reads_logs, stream_openings},
     .in_path = {&deployment_in_path, &build_in_path_of},
     .query = log_query,
     .answer = {.status = 200,
                .schema = "BuildLog",
                .content_type = "text/plain; charset=utf-8",
                .by_accept = "text/event-stream"},
     .errors = {Code::build_not_found, Code::deployment_not_found, Code::forbidden,
                Code::malformed_request},
     .served_by = {"berth builds logs", "/console"},
     .run = FreeHandler{build_log}},
};

}  // namespace

std::span<const Route> builds_routes() { return rows; }

}  // namespace berth::api
