#include "reconcilers/cluster/kube_exec.h"

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/url.h"
#include "reconcilers/kube/exec_status.h"
#include "reconcilers/kube/paths.h"

namespace berth::reconcilers {
namespace {

using exec::Event;
using exec::Output;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The subprotocols of pods/exec: v5 is v4 with a signal that a stream has ended (KEP-4006); API
// servers before 1.30 only know v4.
constexpr const char* v5 = "v5.channel.k8s.io";
constexpr const char* v4 = "v4.channel.k8s.io";
// The first byte of each message is its channel (k8s.io/apimachinery/pkg/util/remotecommand).
constexpr char input_channel = 0;
constexpr char output_channel = 1;
constexpr char error_channel = 2;
constexpr char status_channel = 3;
constexpr char size_channel = 4;
constexpr char end_of_stream = char(255);  // v5: the next byte is the channel that has ended
// For pods/portforward and one port, with v4 (k8s.io/cri-streaming/pkg/streaming/portforward). The
// first message on each is the port.
constexpr char data_channel = 0;
constexpr char problem_channel = 1;
constexpr std::size_t port_bytes = 2;

// What is left for the connection, however long the token took.
constexpr milliseconds shortest_try{1'000};
constexpr std::size_t max_sent_bytes = 32 * 1024;  // of one message, as kubectl sends them
constexpr char end_of_text = 4;  // Control-D, the end of the input on a terminal (termios(3), VEOF)
constexpr std::string_view connection_lost = "the connection to the container was lost";

std::string message_of(char channel, std::string_view bytes) {
  std::string message(1, channel);
  message += bytes;
  return message;
}

// What commands and ports have in common.
class KubeSession : public exec::Session {
 public:
  KubeSession(std::unique_ptr<kube::WebSocket> socket, std::string pod)
      : socket_(std::move(socket)), pod_(std::move(pod)) {}

  const std::string& instance() const override { return pod_; }
  int descriptor() const override { return socket_->descriptor(); }
  void send(std::string_view bytes) override {
    while (!bytes.empty()) {
      if (over_ && !cancelled_) return;
      const std::string_view part = bytes.substr(0, max_sent_bytes);
      put(message_of(input_channel, part));
      bytes.remove_prefix(part.size());
    }
  }
  std::optional<Event> receive(milliseconds patience) override {
    const auto until = steady_clock::now() + patience;
    for (;;) {
      if (const auto end = known_end()) return *end;
      const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
      const auto next = socket_->receive(std::max(left, milliseconds(0)));
      if (!next) return std::nullopt;
      std::optional<Event> event;
      if (next->ended)
        event = end_of_connection(next->failure);
      else if (!next->message.empty())
        event = take(next->message.front(), std::string_view(next->message).substr(1));
      if (!event) continue;
      if (const exec::End* end = std::get_if<exec::End>(&*event)) return finish(*end);
      return event;
    }
  }
  void cancel() override {
    cancelled_ = true;
    finish(exec::End{.exit_code = {}, .problem = std::string(session_was_cancelled)});
  }

 protected:
  // What a message means; nothing if it means nothing for the caller.
  virtual std::optional<Event> take(char channel, std::string_view bytes) = 0;
  virtual exec::End end_of_connection(const std::string& failure) = 0;

  // Throws Error.
  void put(std::string message) {
    if (cancelled_) throw Error(Code::unavailable, std::string(session_was_cancelled));
    if (over_) return;
    try {
      socket_->send(std::move(message));
    } catch (const kube::ApiError& error) {
      if (cancelled_) throw Error(Code::unavailable, std::string(session_was_cancelled));
      // A connection that has ended says so by receive(), perhaps with the command's exit code.
      if (error.reason != kube::WebSocket::timed_out) return;
      throw Error(Code::unavailable, std::string(connection_lost) + ": " + error.what());
    }
  }
  bool over() const { return over_; }
  // The first end counts.
  exec::End finish(exec::End end) {
    {
      const std::lock_guard lock(mutex_);
      if (!end_) end_ = std::move(end);
      over_ = true;
    }
    socket_->close();
    return *known_end();
  }
  kube::WebSocket& socket() { return *socket_; }

 private:
  std::optional<exec::End> known_end() {
    const std::lock_guard lock(mutex_);
    return end_;
  }

  const std::unique_ptr<kube::WebSocket> socket_;
  const std::string pod_;
  std::atomic<bool> over_ = false;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::optional<exec::End> end_;
};

class KubeCommand final : public KubeSession {
 public:
  KubeCommand(std::unique_ptr<kube::WebSocket> connection, std::string pod, exec::Command command)
      : KubeSession(std::move(connection), std::move(pod)), command_(std::move(command)) {}

  void close_input() override {
    if (!command_.has_input || over()) return;
    // A terminal stays open for output, so that its input has no other end.
    if (command_.has_terminal)
      put({input_channel, end_of_text});
    else if (socket().protocol() == v5)
      put({end_of_stream, input_channel});
    else
      finish({.exit_code = {},
              .problem = "this cluster can't tell a command that its input has ended; Kubernetes "
                         "1.30 and later can"});
  }
  void resize(exec::TerminalSize size) override {
    if (!command_.has_terminal) return;
    const nlohmann::json json{{"Width", size.columns}, {"Height", size.rows}};
    put(message_of(size_channel, json.dump()));
  }

 private:
  std::optional<Event> take(char channel, std::string_view bytes) override {
    if (bytes.empty()) return std::nullopt;
    if (channel == output_channel)
      return Output{.stream = Output::Stream::out, .bytes = std::string(bytes)};
    if (channel == error_channel)
      return Output{.stream = Output::Stream::error, .bytes = std::string(bytes)};
    if (channel != status_channel) return std::nullopt;
    const auto status = kube::parse_exec_status(bytes);
    if (!status)
      return exec::End{.exit_code = {}, .problem = "the cluster didn't say how it ended"};
    if (status->exit_code) return exec::End{.exit_code = status->exit_code, .problem = {}};
    return end_of_refused(status->message, command_.argv);
  }
  exec::End end_of_connection(const std::string&) override {
    return {.exit_code = {}, .problem = std::string(connection_lost)};
  }

  const exec::Command command_;
};

class KubePort final : public KubeSession {
 public:
  KubePort(std::unique_ptr<kube::WebSocket> connection, std::string pod, int port)
      : KubeSession(std::move(connection), std::move(pod)), port_(port) {}

  // These connections end in both directions together.
  void close_input() override {}
  void resize(exec::TerminalSize) override {}

 private:
  std::optional<Event> take(char channel, std::string_view bytes) override {
    if (channel != data_channel && channel != problem_channel) return std::nullopt;
    std::size_t& skipped = skipped_[channel == data_channel ? 0 : 1];
    const std::size_t skip = std::min(port_bytes - skipped, bytes.size());
    skipped += skip;
    bytes.remove_prefix(skip);
    if (bytes.empty()) return std::nullopt;
    if (channel == problem_channel) return end_of_refused_port(bytes, port_);
    return Output{.stream = Output::Stream::out, .bytes = std::string(bytes)};
  }
  exec::End end_of_connection(const std::string& failure) override {
    return {.exit_code = {}, .problem = failure.empty() ? "" : std::string(connection_lost)};
  }

  const int port_;
  std::size_t skipped_[2] = {0, 0};
};

kube::WebSocketRequest request_for(const RunningContainer& container,
                                   const exec::Command& command) {
  std::string path = kube::object_path(kube::pods, container.name_space, container.pod) +
                     "/exec?container=" + percent_encode(container.container);
  for (const std::string& word : command.argv) path += "&command=" + percent_encode(word);
  path += std::string("&stdin=") + (command.has_input ? "true" : "false") +
          "&stdout=true&stderr=" + (command.has_terminal ? "false&tty=true" : "true&tty=false");
  return {.path = path, .protocols = {v5, v4}};
}

kube::WebSocketRequest request_for(const RunningContainer& container, const exec::Port& port) {
  return {.path = kube::object_path(kube::pods, container.name_space, container.pod) +
                  "/portforward?ports=" + std::to_string(port.number),
          .protocols = {v4}};
}

// The sentence for the caller. The API server's words name accounts, nodes and addresses, which
// aren't for them.
Error session_refusal(const kube::ApiError& error, const RunningContainer& container) {
  log::warning("a session in a container can't be opened",
               {{"pod", container.pod}, {"status", error.status}, {"error", error.what()}});
  if (error.unreachable())
    return Error(Code::unavailable, "the Kubernetes API server doesn't answer; try again later");
  if (error.status == 404) return Error(Code::invalid_state, std::string(container_is_gone));
  // Admission policies answer 422.
  if (error.status == 401 || error.status == 403 || error.status == 422)
    return Error(Code::unavailable,
                 "the cluster doesn't allow berth to open sessions in this container; berthd's log "
                 "has the cluster's reason for whoever runs the platform");
  if (error.status == 429)
    return Error(Code::unavailable, "the Kubernetes API server is busy; try again later");
  const std::string status = std::to_string(error.status);
  return Error(Code::unavailable, "the node " + container.node +
                                      " doesn't open the session for the Kubernetes API server (" +
                                      status + ")");
}

kube::ClientOptions token_client_options() {
  kube::ClientOptions options;
  options.request_timeout = exec::open_time / 2;
  options.max_retries = 0;
  return options;
}

}  // namespace

KubeExec::KubeExec(const kube::Kubeconfig& config, const std::string& account)
    : client_(config, token_client_options()),
      token_(client_, config, account.substr(0, account.find('/')),
             account.substr(account.find('/') + 1)),
      sockets_(config) {}

kube::Access KubeExec::access() {
  try {
    return token_.now();
  } catch (const std::runtime_error& error) {
    log::warning("the cluster gives no token for sessions in containers",
                 {{"error", error.what()}});
    throw Error(Code::unavailable,
                "berth gets no token for sessions in containers from the cluster; berthd's log has "
                "the reason for whoever runs the platform");
  }
}

std::unique_ptr<kube::WebSocket> KubeExec::connect(const kube::WebSocketRequest& request) {
  const auto until = steady_clock::now() + exec::open_time;
  const auto left = [&] {
    return std::max(std::chrono::ceil<milliseconds>(until - steady_clock::now()), shortest_try);
  };
  const kube::Access shown = access();
  try {
    return sockets_.open(request, shown, left());
  } catch (const kube::ApiError& error) {
    if (error.status != 401) throw;
  }
  // The key that signs tokens may have been replaced.
  token_.refused(shown);
  return sockets_.open(request, access(), left());
}

std::unique_ptr<exec::Session> KubeExec::open(const RunningContainer& container,
                                              const exec::Wanted& wanted) {
  try {
    if (const auto* command = std::get_if<exec::Command>(&wanted.what))
      return std::make_unique<KubeCommand>(connect(request_for(container, *command)), container.pod,
                                           *command);
    const auto& port = std::get<exec::Port>(wanted.what);
    return std::make_unique<KubePort>(connect(request_for(container, port)), container.pod,
                                      port.number);
  } catch (const kube::ApiError& error) {
    throw session_refusal(error, container);
  }
}

}  // namespace berth::reconcilers
