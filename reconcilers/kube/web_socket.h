#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reconcilers/kube/credentials.h"
#include "reconcilers/kube/kubeconfig.h"

// WebSocket connections to an API server (RFC 6455), over Boost.Beast.
namespace berth::kube {

struct WebSocketRequest {
  std::string path;                    // with the query, percent-encoded
  std::vector<std::string> protocols;  // subprotocols, the best one first
};

// One connection, which is open. All functions but the destructor are thread-safe.
class WebSocket {
 public:
  // A message from the server. Larger ones end the connection at once.
  static constexpr std::size_t max_message_bytes = std::size_t{1} << 20;
  // Nothing more is read from the server while messages of so many bytes wait for receive().
  static constexpr std::size_t max_queued_bytes = std::size_t{256} << 10;
  static constexpr std::chrono::seconds send_time{30};
  // How often a ping is sent, and after which time without any message or pong the connection is
  // given up. That time doesn't count while nothing is read because messages wait.
  static constexpr std::chrono::seconds ping_interval{40};
  static constexpr std::chrono::seconds max_silence{120};

  static constexpr std::string_view timed_out = "Timeout";

  struct Received {
    std::string message;
    bool ended = false;   // the connection has ended, and no message was left
    std::string failure;  // why, if the server didn't end it properly
  };

  class State;
  explicit WebSocket(std::shared_ptr<State> state);
  // Closes the connection at once.
  ~WebSocket();
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;

  // The subprotocol that the server has chosen; may be empty.
  const std::string& protocol() const;
  // Sends a binary message as one frame, and waits until the kernel has taken it. Throws ApiError
  // with status 0 if the connection has ended, and with the reason `timed_out` if that takes longer
  // than send_time, after which the connection is closed.
  void send(std::string message);
  // Returns the next message, or nothing if there is none within `patience`. After the end of the
  // connection and the last message, returns the end, any number of times.
  std::optional<Received> receive(std::chrono::milliseconds patience);
  // Readable (poll(2)) as long as receive() returns something without waiting.
  int descriptor() const;
  // Ends the connection, also for receive().
  void close();

 private:
  const std::shared_ptr<State> state_;
};

// Opens connections to one API server, and has one thread for all of them. Thread-safe; has to
// outlive its connections.
class WebSockets {
 public:
  // Uses the server's address, tls-server-name and insecure-skip-tls-verify of `config`. Throws
  // std::invalid_argument for an address that load_kubeconfig() would refuse.
  explicit WebSockets(const Kubeconfig& config);
  ~WebSockets();
  WebSockets(const WebSockets&) = delete;
  WebSockets& operator=(const WebSockets&) = delete;

  // Opens a connection. Throws ApiError: with the server's status and words if it answers anything
  // but 101, and with status 0 if it doesn't within `patience`, can't be reached, or if the
  // kubeconfig names a proxy, which these connections don't use.
  std::unique_ptr<WebSocket> open(const WebSocketRequest& request, const Access& access,
                                  std::chrono::milliseconds patience);

 private:
  class Loop;
  struct Server {
    bool tls = true;
    bool verify = true;
    std::string host;    // to connect to, without brackets
    std::string port;    // in decimal
    std::string name;    // that the certificate has to be for
    std::string prefix;  // goes before each path
    std::string header;  // the field Host
    bool has_proxy = false;
  };
  static Server server_of(const Kubeconfig& config);

  const Server server_;
  const std::unique_ptr<Loop> loop_;
};

}  // namespace berth::kube
