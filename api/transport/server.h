#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/transport/connection_table.h"
#include "api/transport/http.h"

namespace berth::api {

// Fills in the answer. Called on many threads at once, on at most `http_threads` of them at a time.
// What it throws is answered with 500 and logged.
using Handler = std::function<void(const Request&, Response&)>;

// Renders an answer that the transport gives by itself, in the shape that callers expect: 400, 408,
// 413, 414, 415, 417, 431, 500, 501, 503, 505. `detail` is a sentence for the caller.
using RenderRefusal = std::function<Response(int status, std::string_view detail)>;

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0 picks one
  // Handlers that run at once. A request waits for a slot when it is complete, never before.
  std::size_t http_threads = 64;
  // Open connections, each of which has a thread: idle and streaming ones count. ConnectionTable
  // says which of them makes room for one more; where none does, that one is answered with 503 and
  // closed.
  ConnectionLimits connections = {};
  std::size_t max_body_bytes = 1024 * 1024;
  // Bodies above small_body_bytes (request_reader.h) that are in memory at once: while they arrive
  // and while their handlers run.
  std::size_t max_large_bodies = 64;
  std::size_t max_header_bytes = 64 * 1024;
  // From the first byte of a request to its last (408); also for a new connection to say anything,
  // and for a complete request to wait for a handler slot (503).
  std::chrono::milliseconds request_timeout = std::chrono::seconds(15);
  // For a connection to send its next request. Above the 60 s after which common proxies close
  // theirs, so that they never send into a connection that is being closed.
  std::chrono::milliseconds keep_alive_timeout = std::chrono::seconds(75);
  // For the caller to take an answer, or one piece of a stream.
  std::chrono::milliseconds write_timeout = std::chrono::seconds(30);
  RenderRefusal render_refusal = {};  // empty: the detail as text/plain
  Fields headers = {};                // of every answer, and so of none by itself
};

// For metrics; each figure by itself is right, together they are no snapshot.
struct ServerCounters {
  std::size_t open_connections = 0;
  std::size_t running_handlers = 0;
  std::size_t open_streams = 0;
  std::uint64_t refused_connections = 0;    // answered with 503, since the start
  std::uint64_t displaced_connections = 0;  // that had to make room, since the start
  std::uint64_t refused_requests = 0;       // by the transport, since the start
};

enum class Drained { all, some_cut_off };

// HTTP/1.1 on one listening socket. Every well-formed request of any method and path goes to the
// one handler; nothing is served from files. Requests are read strictly after RFC 9112: what could
// be understood in two ways is refused and the connection closed.
class Server {
 public:
  Server(ServerOptions options, Handler handler);
  // Like shutdown(0s), and then waits for handlers that still run: they use what the caller owns.
  // run() must have returned, or must never be called.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens, so that connections queue from now on, and returns the port. Once, before run().
  // Throws std::runtime_error naming the address, for instance when it is taken.
  int bind();
  // Accepts connections until shutdown() is called by another thread. Running out of descriptors
  // or memory doesn't end it: it pauses and goes on.
  void run();
  // Takes no more connections, closes idle ones at once and ends streams after their step; running
  // requests get up to `grace`, are answered with `Connection: close`, and what is left then is
  // cut off, which `some_cut_off` tells. Returns once all connections are gone, but at most a
  // second after `grace`, even if a handler doesn't return. Not from a handler or a signal handler.
  Drained shutdown(std::chrono::seconds grace);

  ServerCounters counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::api
