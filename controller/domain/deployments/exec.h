#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// Commands that are run in a container that runs already, and connections to its ports, as the API
// asks for them and the reconcilers open them on the cluster.
namespace berth::exec {

// A command in one container of a deployment.
struct Command {
  std::vector<std::string> argv;
  bool has_input = true;
  bool has_terminal = false;  // then all output is one stream
};
// A connection to a TCP port of one container.
struct Port {
  int number = 0;
};

struct Wanted {
  std::string deployment_id;
  // The name of the container's pod; if it is empty, one that is ready, of `process`.
  std::optional<std::string> instance = {};
  std::optional<std::string> process = {};  // if it is empty, web, or the first one by name
  std::variant<Command, Port> what;
};

// Bytes from the container.
struct Output {
  enum class Stream { out, error };  // a terminal and a port only have the first one
  Stream stream = Stream::out;
  std::string bytes;
};
// The last event of a session.
struct End {
  std::optional<int> exit_code;  // of the command; empty if it isn't known, and for a port
  std::string problem;  // why it couldn't be run, or was cut off, as a sentence; else empty
};
using Event = std::variant<Output, End>;

struct TerminalSize {
  int columns = 80;
  int rows = 24;
};

// One command, or one connection, under way. receive() may be used by one thread while another one
// uses the other functions. Destroying a session closes its connection to the cluster, which ends
// the command if it has a terminal or reads its input.
class Session {
 public:
  virtual ~Session() = default;
  // The name of the pod in which it runs.
  virtual const std::string& instance() const = 0;
  // Waits until the cluster has taken the bytes. Throws Error (unavailable) if it doesn't in 30 s
  // or the connection is lost. Does nothing after the End.
  virtual void send(std::string_view bytes) = 0;
  // The command reads the end of its input. The output goes on.
  virtual void close_input() = 0;
  virtual void resize(TerminalSize size) = 0;
  // Returns what comes next, or nothing if nothing comes within `patience`. After an End, returns
  // the same End again.
  virtual std::optional<Event> receive(std::chrono::milliseconds patience) = 0;
  // A descriptor that is readable when receive() may return something without waiting, for poll().
  virtual int descriptor() const = 0;
  // Ends the session at once: what waits in send() or receive() returns soon, send() throws, and
  // receive() returns an End. May be called by any thread at any time; after it, the session is
  // only destroyed.
  virtual void cancel() = 0;
};

// Opens a session. Waits for the cluster's answer for at most open_time. Throws Error:
// invalid_state if no such container runs, and unavailable if the cluster refuses or doesn't
// answer; the sentence says which.
using Open = std::function<std::unique_ptr<Session>(const Wanted&)>;
inline constexpr std::chrono::seconds open_time{15};

}  // namespace berth::exec
