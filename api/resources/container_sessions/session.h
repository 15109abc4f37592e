#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "controller/domain/deployments/exec.h"
#include "controller/domain/deployments/exec_sessions.h"
#include "controller/transport/http.h"
#include "controller/transport/websocket_connection.h"

namespace berth::api {

// The limits of a session in a container.
struct SessionLimits {
  // A client's message: a channel's number, and 64 KiB.
  std::size_t message_bytes = 64 * 1024 + 1;
  // What is sent at once.
  std::size_t frame_bytes = 64 * 1024;
  // How long nothing may be sent in either direction, and how long a session may last.
  std::chrono::milliseconds idle = std::chrono::minutes(30);
  std::chrono::milliseconds longest = std::chrono::hours(12);
  // How often it is checked whether the session may go on. It ends within five seconds after it
  // may not.
  std::chrono::milliseconds check = std::chrono::seconds(2);
  // How often the client is pinged, and how long it may be silent, unless it goes on taking output
  // that has had to wait for it. Common proxies close a connection after 60 s of silence. The
  // cluster may take 30 s for an input, in which no pong is read.
  std::chrono::milliseconds ping = std::chrono::seconds(20);
  std::chrono::milliseconds silence = std::chrono::seconds(75);
  // How long the client may take to answer a close.
  std::chrono::milliseconds close = std::chrono::seconds(2);
};

// Passes bytes between the WebSocket of a client and a session in a container.
//
// It takes two threads, one for each direction, so that input that the container doesn't take never
// holds up its output. Neither keeps more than one message: who doesn't take what they are sent
// makes the other side wait. What the client's messages mean is said in
// docs/guides/operators.md, "Sessions without the client".
class ContainerSession {
 public:
  struct Parts {
    std::unique_ptr<exec::Session> session;
    exec::SessionKind kind = exec::SessionKind::exec;
    // Throws if the session may not go on. Called by one thread at a time.
    std::function<void()> check;
    // Called once, when the session is over, also if run() never was. Throws nothing.
    std::function<void(const exec::Ended&)> ended;
    SessionLimits limits = {};
  };
  explicit ContainerSession(Parts parts);
  ~ContainerSession();
  ContainerSession(const ContainerSession&) = delete;
  ContainerSession& operator=(const ContainerSession&) = delete;

  // Passes bytes until the session ends, and closes the WebSocket.
  void run(const Upgraded& upgraded);

 private:
  using Clock = std::chrono::steady_clock;
  // Why a session ends.
  struct Ending {
    std::uint16_t code;  // of the close
    std::string why;     // empty if it has ended by itself
  };

  // Of the thread that passes output.
  Ending pass_output(websocket::Connection& client, const Upgraded& upgraded);
  // Whether there is a reason to end, which ending_ then is.
  bool must_end(const websocket::Connection& client, const Upgraded& upgraded);
  std::optional<Ending> reason_to_end(const websocket::Connection& client,
                                      const Upgraded& upgraded);
  std::optional<Ending> refusal_to_go_on();
  bool send_output(websocket::Connection& client, const Upgraded& upgraded,
                   const exec::Output& output);
  Ending finish(websocket::Connection& client, const Upgraded& upgraded, const exec::End& end);

  // Of the thread that passes input.
  void pass_input(websocket::Connection& client);
  void take(const websocket::Message& message);
  void take_exec(std::string_view message);
  void input_is_over(const Ending& ending);

  Parts parts_;
  const Clock::time_point began_ = Clock::now();
  std::atomic<Clock::time_point> used_ = Clock::now();  // when something was last passed on
  Clock::time_point checked_ = Clock::now();
  Clock::time_point pinged_ = Clock::now();
  std::optional<Ending> ending_;  // of the output's thread
  exec::Ended outcome_;
  int news_ = -1;  // an eventfd by which the input's thread wakes the other one

  std::mutex mutex_;
  std::optional<Ending> of_input_;  // why no input comes any more; guarded by the mutex
  std::atomic<bool> input_over_ = false;
  std::atomic<bool> is_over_ = false;  // nothing is passed on any more
};

// The message of the channel 3 for the end of a command: a metav1.Status in JSON, as
// k8s.io/apimachinery (pkg/apis/meta/v1) and kubectl know it.
std::string status_message(const exec::End& end);

}  // namespace berth::api
