#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "controller/transport/connection_table.h"
#include "controller/transport/http.h"

namespace berth::api {

// Fills in the answer, for which it may wait. Called on many threads, on at most `http_threads` at
// a time. An exception is logged and answered with 500.
using Handler = std::function<void(const Request&, Response&)>;

// Returns the address of the client behind a request whose head was read: its remote_address, or
// the one for which a trusted proxy speaks.
using ClientAddress = std::function<std::string(const Request&)>;

// Whether a request whose head was read is one that an overloaded server has to answer all the
// same, such as a probe's. Called before the body is read.
using IsEssential = std::function<bool(const Request&)>;

// Says where the body of a request goes whose head was read; nothing for the usual place, memory.
// Called before the body is read. May wait for a database.
using PlaceOfBody = std::function<std::optional<Upload>(const Request&)>;

// Makes the answers that the transport gives without a handler, in the shape that callers expect:
// 400, 408, 413, 414, 415, 417, 431, 500, 501, 503 and 505. `detail` is a sentence for the caller.
using RenderRefusal = std::function<Response(int status, std::string_view detail)>;

struct ServerOptions {
  std::string host = "127.0.0.1";  // or `unix:` and a path, see listen_on() in socket.h
  int port = 0;                    // 0 lets the system choose one
  // How many handlers may run at once. A request waits for one of these slots only after it is
  // complete. Each client's network has shares (base/shares.h) of these slots, of the large bodies,
  // and of the requests under way, of which there are connections.total, unless of_network is 0
  // or the client's address is one of connections.shared_addresses.
  std::size_t http_threads = 64;
  // Limits of open connections. Those that are idle, slow or streaming count, but have no thread.
  // ConnectionTable decides which one makes room for a new one; if none does, the new one is
  // answered with 503 and closed.
  ConnectionLimits connections = {};
  std::size_t max_body_bytes = 1024 * 1024;
  // How many bodies above small_body_bytes (request_reader.h) may be in memory at once, while they
  // arrive and while their handlers run.
  std::size_t max_large_bodies = 64;
  // How many uploads to files there may be at once.
  std::size_t max_uploads = 16;
  // How many upgraded connections (Response::takeover) have a thread at once. Whoever answers so
  // has to know that fewer are open: a further one would wait for its thread.
  std::size_t max_upgraded = 256;
  std::size_t max_header_bytes = 64 * 1024;
  // The time from the first byte of a request to its last (408 after that). Also how long a new
  // connection may stay silent, and how long a complete request may wait for a handler slot (503
  // after that).
  std::chrono::milliseconds request_timeout = std::chrono::seconds(15);
  // How long a connection may wait for its next request. It is above the 60 s after which common
  // proxies close their side, so that they never send a request into a connection that is being
  // closed.
  std::chrono::milliseconds keep_alive_timeout = std::chrono::seconds(75);
  // How long the caller may take to receive an answer, or what one step of a stream has written.
  std::chrono::milliseconds write_timeout = std::chrono::seconds(30);
  RenderRefusal render_refusal = {};  // if empty, the detail is sent as text/plain
  Fields headers = {};                // added to every answer
  ClientAddress client_address = {};  // if empty, it is the remote_address
  IsEssential is_essential = {};      // if empty, no request is essential
  PlaceOfBody place_of_body = {};     // if empty, all bodies are in memory
};

// For metrics. Each figure is right by itself, but they aren't taken at one moment.
struct ServerCounters {
  std::size_t open_connections = 0;
  std::size_t running_handlers = 0;
  std::size_t open_streams = 0;
  std::size_t upgraded_connections = 0;
  std::uint64_t refused_connections = 0;    // answered with 503, since the start
  std::uint64_t displaced_connections = 0;  // closed to make room, since the start
  std::uint64_t refused_requests = 0;       // refused by the transport, since the start
};

enum class Drained { all, some_cut_off };

// An HTTP/1.1 server on one listening socket. Every well-formed request, whatever its method and
// path, goes to the handler; no files are served. Requests are read strictly by RFC 9112: whatever
// can be understood in two ways is refused, and the connection is closed.
class Server {
 public:
  Server(ServerOptions options, Handler handler);
  // Shuts down with a grace of 0 s and then waits for handlers that still run, because they may use
  // what the caller owns. run() must have returned or never have been called.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens, so that connections are queued from now on, and returns the port. Must be called once,
  // before run(). Throws std::runtime_error that names the address, for instance if the address is
  // in use.
  int bind();
  // Accepts connections until another thread calls shutdown(). If the system runs out of
  // descriptors or memory, it pauses and goes on.
  void run();
  // Stops accepting connections, closes idle ones at once, ends streams after what their present
  // step writes, and tells the upgraded ones (Upgraded::ending). Running requests get up to `grace`
  // and are answered with `Connection: close`; what is left then is cut off, which `some_cut_off`
  // reports. Returns when all connections are gone, but at most a second after `grace`, even if a
  // handler hasn't returned. Must not be called from a handler or a signal handler.
  Drained shutdown(std::chrono::seconds grace);

  ServerCounters counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::api
