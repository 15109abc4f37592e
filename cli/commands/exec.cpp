// The commands exec and port-forward, which reach into a deployment's containers.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <list>
#include <mutex>
#include <thread>

#include "cli/commands/commands.h"
#include "cli/login.h"
#include "cli/terminal.h"
#include "cli/websocket.h"
#include "cli/words.h"
#include "controller/base/descriptor.h"
#include "controller/base/text.h"

namespace berth::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* subprotocol = "v5.channel.k8s.io";
// The channels of that subprotocol.
constexpr char input_channel = 0;
constexpr char output_channel = 1;
constexpr char error_channel = 2;
constexpr char status_channel = 3;
constexpr char resize_channel = 4;
constexpr char close_channel = char(255);

constexpr size_t read_at_once = 32 * 1024;
// Nothing more is read while this much waits to be sent, so that who can't take it isn't drowned.
constexpr size_t most_unsent = 256 * 1024;
// The server pings every 20 s; after this time without anything, the connection is lost.
constexpr std::chrono::seconds longest_silence{90};
constexpr std::chrono::seconds look_interval{1};

// How many messages are received before input is looked at, so that a command that writes without a
// pause doesn't keep the person's Ctrl-C waiting.
constexpr int received_at_once = 16;

constexpr std::uint16_t normal = 1000;
constexpr std::uint16_t policy_violation = 1008;

// A descriptor that SIGWINCH makes readable.
int size_changed = -1;
extern "C" void note_size(int) {
  const int before = errno;
  ::eventfd_write(size_changed, 1);
  errno = before;
}

// Notes changes of the terminal's size, for the lifetime of this object.
class SizeWatch {
 public:
  SizeWatch() : changed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    size_changed = changed_.get();
    struct sigaction note = {};
    note.sa_handler = note_size;
    ::sigaction(SIGWINCH, &note, &before_);
  }
  ~SizeWatch() { ::sigaction(SIGWINCH, &before_, nullptr); }
  SizeWatch(const SizeWatch&) = delete;
  SizeWatch& operator=(const SizeWatch&) = delete;

  int descriptor() const { return changed_.get(); }
  void forget() const {
    eventfd_t ignored = 0;
    ::eventfd_read(changed_.get(), &ignored);
  }

 private:
  const Descriptor changed_;
  struct sigaction before_ = {};
};

Failure lost() { return {Exit::unavailable, "the connection to the server was lost"}; }

// What a close without an end says.
Failure ended(const websocket::Message& close) {
  const std::string why = close.data.empty() ? "the server ended the session" : close.data;
  return {close.code == policy_violation ? Exit::forbidden : Exit::unavailable, why};
}

void write_all(int descriptor, std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(descriptor, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      pollfd state{.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&state, 1, -1);
      continue;
    }
    if (written <= 0) throw Failure(Exit::failed, "the output can't be written to stdout");
    data.remove_prefix(size_t(written));
  }
}

// The words for the person if the scope is missing: its name alone doesn't say that two people have
// to agree to it.
template <typename Work>
auto with_advice(Work&& work) {
  try {
    return work();
  } catch (Failure& failure) {
    if (failure.server_code == "insufficient_scope")
      failure.advice =
          "`berth scopes request deploy:exec` asks the admins for it; once they have approved it, "
          "`berth login --scope \"profile:read deploy:manage deploy:exec\"` gets a token with it.";
    throw;
  }
}

// A session lasts no longer than its token, which may be about to expire.
void get_new_token(Login& login) {
  login.access_token();
  try {
    login.renew(Login::Why::refused);
  } catch (const Failure&) {
    // The present one has to do.
  }
}

struct ExecFlags {
  std::string name;
  std::vector<std::string> command;
  std::string process;
  std::string instance;
  bool no_terminal = false;
};

// A command that runs in a container, and its streams here.
class Exec {
 public:
  Exec(WebSocket& socket, bool has_terminal) : socket_(socket), has_terminal_(has_terminal) {}

  // Returns when the command has ended, or the connection. Throws Failure if that is lost.
  void run() {
    if (has_terminal_) watch_.emplace();
    try {
      if (has_terminal_) send_size();
      pass();
    } catch (const NoAnswer&) {
      if (!status_.is_object()) throw lost();
    }
  }
  // Returns the command's exit code, and says why it couldn't be run. Throws Failure if the code
  // isn't known. Needs run().
  int exit_code() const {
    if (!status_.is_object()) throw ended(close_);
    if (status_.value("status", "") == "Success") return 0;
    const std::string words = status_.value("message", "the command failed");
    for (const json& cause :
         status_.value("details", json::object()).value("causes", json::array())) {
      const auto code = parse_number<int>(cause.value("message", ""));
      if (cause.value("reason", "") != "ExitCode" || !code) continue;
      // A command that can't be run has said nothing by itself.
      if (!words.starts_with("command terminated")) say("berth: " + words);
      return *code;
    }
    throw Failure(Exit::failed, words);
  }

 private:
  // Passes everything on until the server closes the connection.
  void pass() {
    while (true) {
      int received = 0;
      for (; received < received_at_once; ++received) {
        auto message = socket_.receive();
        if (!message) break;
        if (message->kind == websocket::Kind::close) {
          close_ = *std::move(message);
          return socket_.close(normal);
        }
        if (message->kind == websocket::Kind::binary && !message->data.empty()) take(message->data);
      }
      const bool has_more = received == received_at_once;  // may have been received
      if (!has_more && Clock::now() - socket_.heard() > longest_silence) throw lost();
      // What has been received, but not looked at, doesn't make the socket readable.
      wait(has_more ? std::chrono::seconds(0) : look_interval);
    }
  }
  void wait(std::chrono::milliseconds patience) {
    const bool reads = !input_over_ && socket_.unsent() < most_unsent;
    const short wanted = socket_.unsent() > 0 ? POLLIN | POLLOUT : POLLIN;
    std::array<pollfd, 3> waited = {
        {{.fd = socket_.descriptor(), .events = wanted, .revents = 0},
         {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
         {.fd = watch_ ? watch_->descriptor() : -1, .events = POLLIN, .revents = 0}}};
    ::poll(waited.data(), waited.size(), int(patience.count()));
    if ((waited[0].revents & POLLOUT) != 0) socket_.flush();
    if (waited[1].revents != 0) read_input();
    if (waited[2].revents != 0) {
      watch_->forget();
      send_size();
    }
  }
  void read_input() {
    std::string data(read_at_once + 1, input_channel);
    const ssize_t got = ::read(STDIN_FILENO, data.data() + 1, read_at_once);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) {
      input_over_ = true;
      socket_.send(websocket::Kind::binary, std::string{close_channel, input_channel});
      return;
    }
    socket_.send(websocket::Kind::binary, std::string_view(data).substr(0, size_t(got) + 1));
  }
  void send_size() {
    const WindowSize now = window_size();
    if (now == size_) return;
    size_ = now;
    socket_.send(
        websocket::Kind::binary,
        std::string(1, resize_channel) + json{{"Width", now.columns}, {"Height", now.rows}}.dump());
  }
  void take(const std::string& message) {
    const std::string_view data = std::string_view(message).substr(1);
    if (message[0] == output_channel)
      write_all(STDOUT_FILENO, data);
    else if (message[0] == error_channel)
      write_all(STDERR_FILENO, data);
    else if (message[0] == status_channel)
      status_ = json::parse(data, nullptr, false);
  }

  WebSocket& socket_;
  const bool has_terminal_;
  std::optional<SizeWatch> watch_;
  WindowSize size_;
  bool input_over_ = false;
  json status_ = nullptr;
  websocket::Message close_;
};

void exec(Run& run, const ExecFlags& flags) {
  if (run.behind_dashes.empty())
    throw Failure(Exit::usage, "no command was given",
                  "Put it behind --, as in `berth exec shop -- ls -l`.");
  const bool has_terminal =
      !flags.no_terminal && ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
  std::vector<std::pair<std::string, std::string>> query;
  for (const std::string& word : run.behind_dashes) query.emplace_back("command", word);
  if (has_terminal) query.emplace_back("tty", "true");
  if (!flags.process.empty()) query.emplace_back("process", flags.process);
  if (!flags.instance.empty()) query.emplace_back("instance", flags.instance);
  const std::string path = deployment_path(run.api(), flags.name, "/exec?" + encoded(query));
  if (has_terminal) get_new_token(run.api().login());
  const auto socket = with_advice([&] { return run.api().open(path, subprotocol); });
  Exec session(*socket, has_terminal);
  {
    std::optional<RawTerminal> raw;
    if (has_terminal) raw.emplace();
    session.run();
  }
  throw ExitWith{session.exit_code()};
}

struct ForwardFlags {
  std::string name;
  std::string ports;
  std::string process;
  std::string instance;
};

// How many connections are open at once; the server lets an account have 32 sessions.
constexpr size_t most_forwarded = 32;
constexpr int highest_port = 65'535;
constexpr std::chrono::milliseconds after_failed_accept{100};
// A program that sends nothing more may only wait for an answer, or be gone: the connection ends
// when nothing has come for this long.
constexpr std::chrono::seconds patience_for_answer{10};

struct Ports {
  int local = 0;
  int remote = 0;
};

Ports parse_ports(const std::string& text) {
  const size_t colon = text.find(':');
  const auto number = [&](const std::string& part, int least) {
    const auto value = parse_number<int>(part);
    if (!value || *value < least || *value > highest_port)
      throw Failure(Exit::usage, "PORTS has to be REMOTE or LOCAL:REMOTE, and LOCAL may be 0",
                    "`berth port-forward shop 8080:80` listens on port 8080 of this machine.");
    return *value;
  };
  const int remote = number(colon == std::string::npos ? text : text.substr(colon + 1), 1);
  return {.local = colon == std::string::npos ? remote : number(text.substr(0, colon), 0),
          .remote = remote};
}

// Listens on 127.0.0.1.
Descriptor listener_at(int& port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(std::uint16_t(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  socklen_t size = sizeof(address);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw Failure(Exit::failed,
                  "can't listen on 127.0.0.1:" + std::to_string(port) + ": " +
                      std::generic_category().message(errno),
                  "Choose another port: LOCAL:REMOTE, or 0:REMOTE for one that is free.");
  port = ntohs(address.sin_port);
  return socket;
}

// Passes bytes between a connection on this machine and one of the container, until one of them
// ends.
class Pipe {
 public:
  Pipe(int local, WebSocket& remote) : local_(local), remote_(remote) {}

  void run() {
    bool has_more = false;  // may have been received
    while (true) {
      if (out_.empty()) {
        has_more = false;
        while (auto message = remote_.receive()) {
          if (message->kind == websocket::Kind::close) return end_by(*message);
          heard_ = Clock::now();
          out_ += message->data;
          has_more = out_.size() >= most_unsent;
          if (has_more) break;
        }
      }
      if (!write()) return remote_.close(normal);
      if (Clock::now() - remote_.heard() > longest_silence) throw lost();
      if (input_over_ && out_.empty() && Clock::now() - heard_ > patience_for_answer)
        return remote_.close(normal);
      // What has been received, but not looked at, doesn't make the socket readable.
      wait(has_more && out_.empty() ? std::chrono::seconds(0) : look_interval);
    }
  }

 private:
  void wait(std::chrono::milliseconds patience) {
    const bool reads = !input_over_ && remote_.unsent() < most_unsent;
    // What the program here doesn't take isn't received either.
    const short of_remote =
        short((out_.empty() ? POLLIN : 0) | (remote_.unsent() > 0 ? POLLOUT : 0));
    const short of_local = short((reads ? POLLIN : 0) | (out_.empty() ? 0 : POLLOUT));
    std::array<pollfd, 2> waited = {
        {{.fd = remote_.descriptor(), .events = of_remote, .revents = 0},
         {.fd = local_, .events = of_local, .revents = 0}}};
    ::poll(waited.data(), waited.size(), int(patience.count()));
    if ((waited[0].revents & POLLOUT) != 0) remote_.flush();
    if (reads && (waited[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read();
  }
  void read() {
    std::array<char, read_at_once> data;
    const ssize_t got = ::recv(local_, data.data(), data.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got > 0) return remote_.send(websocket::Kind::binary, {data.data(), size_t(got)});
    input_over_ = true;
    heard_ = Clock::now();
    remote_.send(websocket::Kind::binary, "");  // nothing more comes
  }
  // Returns false if the program here is gone.
  bool write() {
    while (!out_.empty()) {
      const ssize_t sent = ::send(local_, out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) return true;
      if (sent <= 0) return false;
      out_.erase(0, size_t(sent));
    }
    return true;
  }
  void end_by(const websocket::Message& close) {
    const auto deadline = Clock::now() + std::chrono::seconds(10);
    while (write() && !out_.empty() && Clock::now() < deadline) {
      pollfd state{.fd = local_, .events = POLLOUT, .revents = 0};
      ::poll(&state, 1, int(std::chrono::milliseconds(look_interval).count()));
    }
    remote_.close(normal);
    if (close.code != normal) throw ended(close);
  }

  const int local_;
  WebSocket& remote_;
  std::string out_;                         // for the program here
  Clock::time_point heard_ = Clock::now();  // when the container last sent something
  bool input_over_ = false;
};

class Forwarder {
 public:
  Forwarder(const Settings& settings, std::string path)
      : settings_(settings), path_(std::move(path)) {}

  void serve(int listener) {
    while (true) {
      pollfd state{.fd = listener, .events = POLLIN, .revents = 0};
      ::poll(&state, 1, -1);
      Descriptor local(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
      if (!local.valid()) {
        // Such as when no descriptor is left.
        std::this_thread::sleep_for(after_failed_accept);
        continue;
      }
      remove_ended();
      if (connections_.size() >= most_forwarded) {
        say("a connection was refused: " + std::to_string(most_forwarded) + " are open");
        continue;
      }
      Connection& connection = connections_.emplace_back();
      connection.thread = std::jthread([this, &connection, local = std::move(local)] {
        pass(local.get());
        connection.is_over = true;
      });
    }
  }

 private:
  struct Connection {
    std::atomic<bool> is_over = false;
    std::jthread thread;
  };

  void remove_ended() {
    connections_.remove_if([](const Connection& connection) { return connection.is_over.load(); });
  }
  // A connection that fails is reported, and doesn't end the others.
  void pass(int local) {
    try {
      CredentialStore store(settings_.places.state_dir);
      Api api(settings_, store);
      const auto remote = with_advice([&] { return api.open(path_); });
      Pipe(local, *remote).run();
    } catch (const Failure& failure) {
      tell(failure.what() + (failure.advice.empty() ? "" : ". " + failure.advice));
    } catch (const NoAnswer&) {
      tell(lost().what());
    } catch (const std::exception& error) {
      tell(error.what());
    }
  }
  void tell(const std::string& text) {
    const std::scoped_lock lock(mutex_);
    say(text);
  }

  const Settings& settings_;
  const std::string path_;
  std::mutex mutex_;
  std::list<Connection> connections_;
};

void forward(Run& run, const ForwardFlags& flags) {
  Ports ports = parse_ports(flags.ports);
  std::vector<std::pair<std::string, std::string>> query = {{"port", std::to_string(ports.remote)}};
  if (!flags.process.empty()) query.emplace_back("process", flags.process);
  if (!flags.instance.empty()) query.emplace_back("instance", flags.instance);
  const std::string path =
      deployment_path(run.api(), flags.name, "/port-forward?" + encoded(query));
  // What stands in the way is said now, and not at the first connection: a plain request is checked
  // like one for a WebSocket.
  with_advice([&] {
    try {
      run.api().answer({.path = path});
    } catch (const Failure& failure) {
      if (failure.server_code != "upgrade_required") throw;
    }
  });
  const Descriptor listener = listener_at(ports.local);
  get_new_token(run.api().login());  // once, and not for each connection
  run.out().done({{"address", "127.0.0.1:" + std::to_string(ports.local)}, {"port", ports.remote}},
                 "127.0.0.1:" + std::to_string(ports.local) + " leads to port " +
                     std::to_string(ports.remote) + " of " + flags.name + ". Ctrl-C ends it.");
  std::cout << std::flush;
  Forwarder(run.settings(), path).serve(listener.get());
}

}  // namespace

void add_exec_commands(CLI::App& root, Run& run) {
  const auto flags = std::make_shared<ExecFlags>();
  CLI::App* command = add_command(
      root, "exec", "Run a command in a deployment's container, and end with its exit code",
      "berth exec shop -- sh", [&run, flags] { exec(run, *flags); });
  add_deployment(*command, flags->name);
  may_be_empty(
      *command->add_option("COMMAND", flags->command, "The command and its arguments, behind --")
           ->expected(1, -1)
           ->allow_extra_args());
  command->add_option("--process", flags->process, "Run it in a container of this process");
  command->add_option("--instance", flags->instance,
                      "Run it in this container, of those that `berth deploy instances` lists");
  command->add_flag("--no-tty,-T", flags->no_terminal,
                    "Ask for no terminal, which is asked for if stdin and stdout are one");

  const auto ports = std::make_shared<ForwardFlags>();
  CLI::App* forwards =
      add_command(root, "port-forward", "Reach a port of a deployment's container from here",
                  "berth port-forward shop 8080:80", [&run, ports] { forward(run, *ports); });
  add_deployment(*forwards, ports->name);
  forwards
      ->add_option("PORTS", ports->ports,
                   "The container's port, or LOCAL:REMOTE; LOCAL 0 takes a free one")
      ->required();
  forwards->add_option("--process", ports->process, "Reach a container of this process");
  forwards->add_option("--instance", ports->instance,
                       "Reach this container, of those that `berth deploy instances` lists");
}

}  // namespace berth::cli
