// Commands in a deployment's containers, and connections to their ports, as WebSockets.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/gate/browser_session.h"
#include "api/gate/event_stream.h"
#include "api/resources/accounts/sign_in.h"
#include "api/resources/container_sessions/session.h"
#include "api/resources/shared.h"
#include "controller/base/id.h"
#include "controller/base/log.h"
#include "controller/base/visible_text.h"
#include "controller/db/request_limits.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/exec_sessions.h"
#include "controller/transport/request_head.h"

namespace berth::api {
namespace {

using deployments::Deployment;
using exec::SessionKind;

// The subprotocol of exec, whose messages begin with the number of a channel.
constexpr std::string_view subprotocol = "v5.channel.k8s.io";

// The limits of a command, which travels in the line of a request (max_request_line_bytes).
constexpr size_t max_words = 64;
constexpr size_t max_command_bytes = 4096;
constexpr int highest_port = 65'535;

bool flag(const Call& call, const char* name) {
  const auto text = call.query(name);
  if (!text || *text == "false" || *text == "0") return false;
  if (*text == "true" || *text == "1") return true;
  throw invalid_field(name, "must be true or false");
}

std::vector<std::string> decode_words(const Call& call) {
  std::vector<std::string> words;
  size_t bytes = 0;
  const auto [begin, end] = call.http.query.equal_range("command");
  for (auto word = begin; word != end; ++word) {
    if (!berth::is_utf8(word->second) || word->second.find('\0') != std::string::npos)
      throw invalid_field("command", "must be UTF-8 without NUL");
    bytes += word->second.size();
    words.push_back(word->second);
  }
  if (words.empty() || words.front().empty())
    throw invalid_field("command", "must name a program: command=sh&command=-c&command=…");
  if (words.size() > max_words || bytes > max_command_bytes)
    throw invalid_field("command", "may have at most " + std::to_string(max_words) + " words and " +
                                       std::to_string(max_command_bytes) + " bytes together");
  return words;
}

exec::Wanted wanted_of(const Call& call) {
  exec::Wanted wanted = {.deployment_id = call.id(), .what = exec::Command()};
  wanted.instance = call.query("instance");
  wanted.process = call.query("process");
  return wanted;
}

// Whether a list of a field has this member; nothing if the field is missing.
std::optional<bool> offers(const Request& request, std::string_view name, std::string_view wanted) {
  std::optional<bool> found;
  for (const auto& [field, value] : request.headers) {
    if (!same_name(field, name)) continue;
    found = found.value_or(false);
    for (std::string_view rest = value; !rest.empty();) {
      std::string_view member = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), member.size() + 1));
      while (member.starts_with(' ')) member.remove_prefix(1);
      while (member.ends_with(' ')) member.remove_suffix(1);
      if (member == wanted) found = true;
    }
  }
  return found;
}

// Returns the fields of the answer to a handshake. Throws upgrade_required if the request is none,
// and malformed_request if it is a wrong one.
Fields answer_handshake(const Request& request, SessionKind kind) {
  Fields fields = {{"Upgrade", "websocket"}};
  try {
    if (!wants_websocket(request))
      throw Error(Code::upgrade_required,
                  "this operation is a WebSocket (RFC 6455), and the request could have opened it; "
                  "send it with Upgrade: websocket");
    fields.emplace_back("Sec-WebSocket-Accept", websocket::accept(request));
  } catch (const Refusal& refusal) {
    throw Error(refusal.status == 426 ? Code::upgrade_required : Code::malformed_request,
                refusal.what());
  }
  if (kind == SessionKind::exec)
    if (const auto offered = offers(request, "Sec-WebSocket-Protocol", subprotocol)) {
      if (!*offered)
        throw Error(Code::malformed_request, "the only subprotocol is " + std::string(subprotocol));
      fields.emplace_back("Sec-WebSocket-Protocol", subprotocol);
    }
  return fields;
}

// Returns the deployment, in which a session may begin.
Deployment admitted_deployment(const Call& call, const Services& services) {
  return services.db.read([&](db::Tx& tx) {
    Deployment deployment = deployments::get_owned(tx, call.caller->app_id, call.id());
    exec::require_sessions(tx, deployment);
    return deployment;
  });
}

// In the console, a session in a container takes more than a browser that somebody has left open.
void require_person(const Call& call, const Services& services) {
  if (call.session_id.empty()) return;
  const bool is_fresh =
      services.db.read([&](db::Tx& tx) { return accounts::has_fresh_proof(tx, call.session_id); });
  if (!is_fresh)
    throw Error(Code::insufficient_user_authentication,
                "the password or second factor was last entered more than 10 minutes ago; prove it "
                "again by POST /api/auth/step-up");
}

// Returns what is called when a session ends: the entry of the audit log is written.
std::function<void(const exec::Ended&)> recorder(const Services& services,
                                                 const exec::Recorded& session) {
  return [&services, session](const exec::Ended& end) {
    try {
      services.db.write([&](db::Tx& tx) { exec::record_end(tx, session, end); });
    } catch (const std::exception& failure) {
      log::error("the end of a session in a container couldn't be recorded",
                 {{"session_id", session.session_id}, {"reason", failure.what()}});
    }
  };
}

// Returns what throws if the session may not go on, because of its token or the deployment.
std::function<void()> checker(const Call& call, const Services& services) {
  return [&services, bearer = BearerCheck(call, services), id = std::string(call.id())] {
    const auto look = [&](db::Tx& tx) {
      bearer.in(tx);
      const auto deployment = deployments::find(tx, id);
      if (!deployment) throw Error(Code::deployment_not_found, "the deployment was deleted");
      exec::require_sessions(tx, *deployment);
    };
    // A session doesn't go on unchecked for as long as the database is slow or away.
    db::limited(db::RequestLimits(), [&] { services.db.read_committed(look); });
  };
}

Reply open_session(const Call& call, const Services& services, SessionKind kind,
                   const exec::Wanted& wanted) {
  const Deployment deployment = admitted_deployment(call, services);
  require_person(call, services);
  const Fields fields = answer_handshake(call.http, kind);
  if (!services.cluster.open_session)
    throw Error(Code::invalid_state, "this berthd runs no containers");
  const std::shared_ptr permit =
      services.memory.container_sessions->admit(kind, call.caller->user_id);
  std::unique_ptr<exec::Session> session =
      permit->opening([&] { return services.cluster.open_session(wanted); });
  exec::Recorded recorded = {.session_id = new_uuid(services.clock.now()),
                             .kind = kind,
                             .user_id = call.caller->user_id,
                             .app_id = deployment.app_id,
                             .deployment_id = deployment.id,
                             .instance = session->instance(),
                             .command = {},
                             .request_id = call.request_id};
  if (const auto* command = std::get_if<exec::Command>(&wanted.what))
    recorded.command = command->argv.front();
  else
    recorded.port = std::get<exec::Port>(wanted.what).number;
  try {
    services.db.write([&](db::Tx& tx) { exec::record_begin(tx, recorded); });
  } catch (...) {
    // The cluster may have begun to run the command.
    log::error("the beginning of a session in a container couldn't be recorded, and it was ended",
               {{"session_id", recorded.session_id},
                {"user_id", recorded.user_id},
                {"deployment_id", recorded.deployment_id},
                {"instance", recorded.instance}});
    throw;
  }
  permit->opened();
  const auto running = std::make_shared<ContainerSession>(
      ContainerSession::Parts{.session = std::move(session),
                              .kind = kind,
                              .check = checker(call, services),
                              .ended = recorder(services, recorded)});
  Reply reply = {.status = switching_protocols, .body = nullptr};
  reply.takeover = [running, permit](const Upgraded& upgraded) { running->run(upgraded); };
  reply.headers = fields;
  return reply;
}

// Counts what is refused.
template <typename Work>
Reply counted(const Services& services, SessionKind kind, Work&& work) {
  try {
    return work();
  } catch (const Error& refusal) {
    // Nobody has asked for a session yet.
    if (refusal.code != Code::upgrade_required) services.memory.container_sessions->refused(kind);
    throw;
  }
}

Reply exec_in_container(const Call& call, const Services& services) {
  return counted(services, SessionKind::exec, [&] {
    exec::Wanted wanted = wanted_of(call);
    wanted.what = exec::Command{.argv = decode_words(call), .has_terminal = flag(call, "tty")};
    return open_session(call, services, SessionKind::exec, wanted);
  });
}

Reply forward_port(const Call& call, const Services& services) {
  return counted(services, SessionKind::port_forward, [&] {
    exec::Wanted wanted = wanted_of(call);
    wanted.what = exec::Port{.number = int(call.number("port").value())};
    return open_session(call, services, SessionKind::port_forward, wanted);
  });
}

constexpr Guards guards = {to_developers(oauth_token({Scope::deploy_exec})), stream_openings};

constexpr Param instance_param = {
    .name = "instance",
    .description =
        "The name of one of the deployment's containers (instances). Without it, one "
        "that is ready is taken.",
    .example = "berth-01936f5e-7d9f8b6c5-x2x7q"};
constexpr Param process_param = {
    .name = "process",
    .description =
        "The name of one of the deployment's processes. Without it, it is web, or the "
        "first one by name.",
    .example = "web"};
constexpr Param app_param = {
    .name = "app",
    .description =
        "The id of the caller's app, for pages, which can't send Berth-App with the "
        "handshake of a WebSocket."};

constexpr Param exec_query[] = {
    {.name = "command",
     .description = "The program and its arguments, a parameter for each word: at most 64 words "
                    "and 4096 bytes together.",
     .example = "[\"sh\", \"-c\", \"ls /data\"]",
     .kind = Kind::words,
     .required = true,
     .limits = "{\"minItems\": 1, \"maxItems\": 64}"},
    {.name = "tty",
     .description =
         "If it is true, the command has a terminal, and all its output is on channel 1.",
     .example = "true"},
    instance_param,
    process_param,
    app_param};

constexpr Param port_query[] = {{.name = "port",
                                 .description = "A TCP port on which the container listens.",
                                 .example = "8080",
                                 .kind = Kind::integer,
                                 .least = 1,
                                 .most = highest_port,
                                 .required = true},
                                instance_param,
                                process_param,
                                app_param};

constexpr Answer web_socket = {.status = switching_protocols,
                               .schema = {},
                               .upgrade = "The connection is a WebSocket (RFC 6455) from now on."};
constexpr Errors session_errors = {
    Code::deployment_not_found, Code::forbidden,
    Code::exec_not_allowed,     Code::deployment_suspended,
    Code::invalid_state,        Code::malformed_request,
    Code::upgrade_required,     Code::insufficient_user_authentication};

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps/{id}/exec",
     .name = "execInContainer",
     .tag = "Deployments",
     .summary = "Run a command in a container, over a WebSocket",
     .text =
         "Runs a command in a container that runs already. Messages are binary, and begin with the "
         "number of a channel, as in Kubernetes' v5.channel.k8s.io: 0 is the command's input, 1 "
         "its output, 2 its error output, 3 its end as a Status in JSON, 4 the terminal's size "
         "({\"Width\":80,\"Height\":24}), and 255 followed by 0 ends the input. It needs a tier "
         "that "
         "allows sessions in containers and, in the console, the password or a code in the last 10 "
         "minutes. It ends within five seconds after its token ends or the deployment is stopped, "
         "after 30 minutes without data, and after 12 hours. A plain GET is checked like the "
         "handshake, and answered with 426 if that would be accepted.",
     .guards = guards,
     .stores = Stores::sessions,
     .in_path = {&deployment_in_path},
     .query = exec_query,
     .answer = web_socket,
     .errors = session_errors,
     .served_by = {"berth exec", "/console"},
     .run = FreeHandler{exec_in_container}},
    {.request = "GET /api/deploy/apps/{id}/port-forward",
     .name = "forwardPort",
     .tag = "Deployments",
     .summary = "Connect to a port of a container, over a WebSocket",
     .text =
         "Opens one TCP connection to a port of a container, whether or not the port is reachable "
         "from outside. Messages are binary, and their bytes are those of the connection; an empty "
         "one says that the client sends nothing more. The rules of exec apply to it as well: "
         "scope, tier, limits, and the plain GET that is answered with 426.",
     .guards = guards,
     .stores = Stores::sessions,
     .in_path = {&deployment_in_path},
     .query = port_query,
     .answer = web_socket,
     .errors = session_errors,
     .served_by = {"berth port-forward", {}},
     .run = FreeHandler{forward_port}},
};

}  // namespace

std::span<const Route> container_sessions_routes() { return rows; }

}  // namespace berth::api
