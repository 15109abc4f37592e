#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <thread>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/node/podman/podman_runtime.h"
#include "reconcilers/embedded/node/podman/words.h"
#include "reconcilers/embedded/node/process.h"

// Sessions in containers (docs.podman.io, API, exec). A command's process is in the container, and
// podman's service passes bytes between it and a connection of its unix socket.
namespace berth::embedded::podman {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds inspect_patience = 2s;
constexpr milliseconds inspect_pause = 10ms;
constexpr milliseconds start_patience = 2s;
constexpr milliseconds resize_patience = 2s;
constexpr milliseconds shortest_start = 1s;  // is left for the start, however long the rest took

struct ExecState {
  bool is_known = false;
  bool runs = false;
  pid_t pid = 0;
  std::optional<int> exit_code;
};

ExecState state_of_exec(const UnixHttp& http, const std::string& id) {
  UnixCall call;
  call.target = libpod_api + "/exec/" + id + "/json";
  call.silence = inspect_patience;
  try {
    const UnixAnswer answer = http.call(call);
    const Json json = answer.good() ? Json::parse(answer.body, nullptr, false) : Json();
    if (!json.is_object()) return {};
    const bool runs = at_path(json, "/Running") == true;
    ExecState state;
    state.is_known = true;
    state.runs = runs;
    state.pid = pid_t(number_at(json, "/Pid", 0));
    if (!runs) state.exit_code = int(number_at(json, "/ExitCode", -1));
    return state;
  } catch (const UnixHttpError&) {
    return {};
  }
}

// podman passes the connection on before the command has started, and until then its terminal
// has no size that could be set.
void wait_until_started(const UnixHttp& http, const std::string& id, int connection) {
  const auto until = steady_clock::now() + start_patience;
  while (steady_clock::now() < until) {
    pollfd output{.fd = connection, .events = POLLIN, .revents = 0};
    if (::poll(&output, 1, int(inspect_pause.count())) > 0) return;  // also if it has ended
    if (state_of_exec(http, id).runs) return;
  }
}

// podman writes its runtime's words to the command's output if it can't start the command.
bool says_not_started(std::string_view first) {
  return first.starts_with("Error: ") && first.contains("OCI ");
}

// A connection to an address such as 10.1.2.3:80. Returns errno, or 0.
int connect_within(const std::string& address, milliseconds patience, Descriptor& connection) {
  const size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  const auto port = parse_number<std::uint16_t>(address.substr(colon + 1));
  if (colon == std::string::npos || !port ||
      ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) != 1)
    return EINVAL;
  to.sin_port = htons(*port);
  connection = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection.valid()) return errno;
  const int yes = 1;
  ::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waiting{.fd = connection.get(), .events = POLLOUT, .revents = 0};
  const auto until = steady_clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
    const int ready = ::poll(&waiting, 1, int(std::max<std::int64_t>(left, 0)));
    if (ready == 0) return ETIMEDOUT;
    if (ready > 0) break;
    if (errno != EINTR) return errno;
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

std::unique_ptr<RunSession> connection_to(const std::string& address,
                                          const SessionRequest& request) {
  RunSession::Parts parts;
  const int error = connect_within(address, request.patience, parts.socket);
  const std::string port = std::to_string(request.port);
  if (error != 0)
    return RunSession::ended(
        {.exit_code = std::nullopt,
         .failure = "dial tcp4 127.0.0.1:" + port + ": connect: " +
                    (error == ECONNREFUSED ? "connection refused" : ::strerrordesc_np(error))});
  parts.how_it_ended = [] { return SessionEnd(); };
  return std::make_unique<RunSession>(std::move(parts));
}

}  // namespace

Runtime::Opening PodmanRuntime::open(const Run& run, const SessionRequest& request) {
  std::string name;
  bool may_be_reached = true;
  {
    const std::lock_guard lock(mutex_);
    const ContainerPtr container = find(run);
    if (!container || container->state.stage != RunState::Stage::running)
      throw Error(Code::invalid_state, "the container doesn't run any more");
    name = container->name;
    may_be_reached = service_.machine().root || container->host_ports.contains(request.port);
  }
  if (!request.command.empty())
    return [this, name, request] { return open_command(name, request); };
  if (!may_be_reached)
    throw Error(Code::invalid_state,
                "this machine runs containers without root, where only the port of the deployment "
                "can be reached, and not port " +
                    std::to_string(request.port));
  const std::string to = address(run, request.port).value_or("");
  return [to, request] { return connection_to(to, request); };
}

std::unique_ptr<RunSession> PodmanRuntime::open_command(const std::string& name,
                                                        const SessionRequest& request) {
  const UnixHttp& http = service_.http();
  const auto until = steady_clock::now() + request.patience;
  const auto refuse = [](const std::string& words) {
    log::warning("podman doesn't open a session in a container", {{"reason", words}});
    throw Error(Code::unavailable, "podman doesn't answer on this machine; try again later");
  };
  try {
    UnixCall create;
    create.method = "POST";
    create.target = libpod_api + "/containers/" + name + "/exec";
    create.silence = request.patience;
    create.body =
        Json{{"AttachStdin", request.has_input}, {"AttachStdout", true}, {"AttachStderr", true},
             {"Tty", request.has_terminal},      {"DetachKeys", ""},     {"Cmd", request.command}}
            .dump(-1, ' ', false, Json::error_handler_t::replace);
    const UnixAnswer created = http.call(create);
    // 404: there is no such container; 409 and 500, depending on podman's version: it doesn't run.
    if (created.status == 404 || words_of(created.body).contains("running containers"))
      throw Error(Code::invalid_state, "the container doesn't run any more");
    if (!created.good()) refuse(words_of(created.body));
    const std::string id = text_at(Json::parse(created.body, nullptr, false), "Id");

    UnixCall start;
    start.method = "POST";
    start.target = libpod_api + "/exec/" + id + "/start";
    start.silence =
        std::max(std::chrono::ceil<milliseconds>(until - steady_clock::now()), shortest_start);
    start.body = Json{{"Detach", false}, {"Tty", request.has_terminal}}.dump();
    UnixAnswer refused;
    RunSession::Parts parts;
    parts.socket = http.upgrade(start, refused);
    if (!parts.socket.valid()) refuse(refused.body);
    if (request.has_terminal) wait_until_started(http, id, parts.socket.get());
    parts.is_framed = !request.has_terminal;
    parts.has_terminal = request.has_terminal;
    parts.is_failure = says_not_started;
    parts.how_it_ended = [this, id, has_terminal = request.has_terminal] {
      return end_of_command(id, has_terminal);
    };
    parts.resize = [this, id](int columns, int rows) { resize_command(id, columns, rows); };
    if (request.has_terminal)
      parts.hang_up = [this, id, group = name] {
        calls_.submit(group, [this, id] { hang_up(id); });
      };
    return std::make_unique<RunSession>(std::move(parts));
  } catch (const UnixHttpError& error) {
    refuse(error.what());
  }
  return nullptr;  // not reached
}

// podman knows the exit code a moment after the output has ended.
SessionEnd PodmanRuntime::end_of_command(const std::string& id, bool has_terminal) {
  const auto until = steady_clock::now() + inspect_patience;
  for (;;) {
    const ExecState state = state_of_exec(service_.http(), id);
    if (state.is_known && !state.runs) return {.exit_code = state.exit_code, .failure = {}};
    if (steady_clock::now() >= until) {
      if (state.runs && has_terminal) hang_up(id);
      return {.exit_code = std::nullopt,
              .failure = state.runs ? "podman's service broke the connection off"
                                    : "the container is not running"};
    }
    std::this_thread::sleep_for(inspect_pause);
  }
}

void PodmanRuntime::resize_command(const std::string& id, int columns, int rows) {
  UnixCall call;
  call.method = "POST";
  call.target = libpod_api + "/exec/" + id + "/resize?h=" + std::to_string(rows) +
                "&w=" + std::to_string(columns);
  call.silence = resize_patience;
  try {
    service_.http().call(call);  // fails for a command that has ended
  } catch (const UnixHttpError& error) {
    log::warning("a terminal couldn't be resized", {{"error", error.what()}});
  }
}

// The end of the connection ends the input of a command. One on a terminal doesn't notice: podman
// keeps the terminal open, so that it is told here what the end of a terminal would tell it.
void PodmanRuntime::hang_up(const std::string& id) {
  const ExecState state = state_of_exec(service_.http(), id);
  if (!state.runs || state.pid <= 1) return;
  const Descriptor process(int(::syscall(SYS_pidfd_open, state.pid, 0)));
  // The number may belong to another process by now.
  const ExecState again = state_of_exec(service_.http(), id);
  if (!process.valid() || !again.runs || again.pid != state.pid) return;
  if (::syscall(SYS_pidfd_send_signal, process.get(), SIGHUP, nullptr, 0) == 0) return;
  // Without root, the container's users are others than berthd's.
  Command kill;
  kill.args = {
      "podman", "unshare", "sh", "-c", "kill -HUP \"$1\"", "sh", std::to_string(state.pid)};
  kill.env = service_.environment();
  kill.directory = service_.directory();
  run(kill);
}

}  // namespace berth::embedded::podman
