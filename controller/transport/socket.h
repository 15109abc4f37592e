#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "controller/base/descriptor.h"

namespace berth::api {

using Deadline = std::chrono::steady_clock::time_point;
inline Deadline after(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

// Listens on a host name or numeric address; port 0 lets the system choose one. It doesn't set
// SO_REUSEPORT, so a port that somebody listens on is an error. A host that begins with
// `unix_prefix` is the path of a Unix socket, for the owner alone; a socket that is left there is
// replaced, so the caller has to know that nobody else uses the directory. Throws
// std::runtime_error that names the address and the reason.
struct Listener {
  Descriptor socket;  // non-blocking
  int port = 0;       // 0 for a Unix socket
};
inline constexpr std::string_view unix_prefix = "unix:";
Listener listen_on(const std::string& host, int port);

enum class Io { ok, closed, timed_out };

// Receives at least one byte and at most `size` bytes. `closed` means that the other side closed
// the connection or that it broke.
struct Received {
  Io io = Io::ok;
  std::size_t bytes = 0;
};
Received receive(int socket, char* to, std::size_t size, Deadline deadline);
// Does the same and doesn't wait: timed_out means that nothing has arrived.
Received receive_now(int socket, char* to, std::size_t size);

// Does the same when no input is expected soon, with one system call where receive() needs three.
// Waits as long as set_patience() said last.
Received await_input(int socket, char* to, std::size_t size);
// Sets how long await_input() waits; at least a millisecond, because the kernel takes 0 as "for
// ever".
void set_patience(int socket, std::chrono::milliseconds patience);

// Sends as much of both pieces, one after the other, as the kernel takes at once; timed_out means
// that something is left. `bytes` says how much was sent of both together.
struct Sent {
  Io io = Io::ok;
  std::size_t bytes = 0;
};
Sent send_now(int socket, std::string_view first, std::string_view second);

// Whether the other side has closed the connection or its sending half.
bool is_peer_gone(int socket);

// Returns the numeric address of the other side. An IPv4 address that came in over IPv6 is written
// as IPv4. The other side of a Unix socket is called `unix_peer`, which no other caller is.
inline constexpr std::string_view unix_peer = "unix";
std::string peer_address(int socket);

}  // namespace berth::api
