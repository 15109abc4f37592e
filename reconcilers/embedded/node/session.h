#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/descriptor.h"

namespace berth::embedded {

// What is to be opened in a running container: a command, or a connection to a TCP port.
struct SessionRequest {
  std::vector<std::string> command;  // empty: a connection to `port`
  bool has_input = true;
  bool has_terminal = false;
  int port = 0;
  std::chrono::milliseconds patience{15'000};  // until it is open
};

struct SessionEnd {
  std::optional<int> exit_code;
  // Why the command couldn't be started, or the port not be reached, in the words of runc and of
  // the kubelet; empty if it could.
  std::string failure;
};

struct SessionEvent {
  enum class Kind { output, error_output, end };
  Kind kind = Kind::output;
  std::string bytes;
  SessionEnd end;  // of an end
};

// A command, or a connection, over a socket. Nothing is kept in memory: who doesn't receive lets
// the other side wait. One thread may receive while another one uses the other functions.
class RunSession {
 public:
  static constexpr std::size_t max_event_bytes = 32 * 1024;

  struct Parts {
    Descriptor socket;  // a stream socket
    // Whether output comes in podman's frames: a byte with the stream (1 or 2), three zeros, four
    // bytes with the size (big-endian), the bytes (docs.podman.io, "Attach to a container").
    bool is_framed = false;
    bool has_terminal = false;
    // Called once by receive(), after the last output. May wait for two seconds.
    std::function<SessionEnd()> how_it_ended;
    std::function<void(int columns, int rows)> resize = {};
    // Called by the destructor if the end wasn't received. Must not wait.
    std::function<void()> hang_up = {};
    // Whether the first output is the runtime's words because it couldn't start the command. Then
    // all of it becomes SessionEnd::failure, unless the exit code is another than 126 and 127.
    std::function<bool(std::string_view first)> is_failure = {};
  };
  explicit RunSession(Parts parts);
  // One that has ended already.
  static std::unique_ptr<RunSession> ended(SessionEnd end);
  ~RunSession();
  RunSession(const RunSession&) = delete;
  RunSession& operator=(const RunSession&) = delete;

  // Waits until the kernel has taken the bytes. Throws std::runtime_error if it doesn't within
  // `patience`. What is sent to a command that has ended is dropped.
  void send(std::string_view bytes, std::chrono::milliseconds patience);
  // The end of the input; on a terminal as Control-D.
  void close_input(std::chrono::milliseconds patience);
  void resize(int columns, int rows);
  // Returns nothing if nothing comes within `patience`. After the end, the same end again.
  std::optional<SessionEvent> receive(std::chrono::milliseconds patience);
  // Readable if receive() may return something without waiting.
  int descriptor() const { return parts_.socket.get(); }
  // Breaks the connection off. What waits in send() or receive() returns.
  void cancel();

 private:
  enum class Read { some, nothing_yet, end };
  Read read_some(char* to, std::size_t most, std::size_t& got);
  std::optional<SessionEvent> read_event(Read& how);
  bool wait_for(short what, std::chrono::steady_clock::time_point until) const;
  SessionEvent finish();
  std::optional<SessionEvent> pass(SessionEvent event);

  Parts parts_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> ended_ = false;
  std::optional<SessionEnd> end_;  // for receive() alone
  // The header of the frame that is being read, and what is left of its bytes.
  std::array<unsigned char, 8> header_{};
  std::size_t header_size_ = 0;
  std::size_t left_ = 0;
  bool has_first_ = false;
  std::optional<std::string> failure_;  // what is_failure() has taken
  SessionEvent::Kind failure_kind_ = SessionEvent::Kind::output;
};

}  // namespace berth::embedded
