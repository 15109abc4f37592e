#include "controller/transport/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include "controller/base/log.h"
#include "controller/base/shares.h"
#include "controller/transport/acceptor.h"
#include "controller/transport/answer.h"
#include "controller/transport/connection_pool.h"
#include "controller/transport/request_head.h"
#include "controller/transport/request_reader.h"
#include "controller/transport/socket.h"

namespace berth::api {
namespace {

// How long after the grace threads may take to notice that their connections were cut off.
constexpr std::chrono::milliseconds cut_off_time{900};

// The pools that all requests to a server share.
struct Pools {
  explicit Pools(const ServerOptions& options)
      : requests(Pool::requests, options.connections.total),
        handlers(Pool::handlers, options.http_threads),
        large_bodies(Pool::large_bodies, options.max_large_bodies),
        uploads(Pool::uploads, options.max_uploads) {}

  Shares requests;
  Shares handlers;
  Shares large_bodies;
  Shares uploads;
};

// The places that one client occupies in these pools.
struct Claims {
  Claims(Pools& pools, const Claimant& claimant)
      : request(pools.requests, claimant),
        handler(pools.handlers, claimant),
        large_body(pools.large_bodies, claimant),
        upload(pools.uploads, claimant) {}

  Shares::Claim request;
  Shares::Claim handler;
  Shares::Claim large_body;
  Shares::Claim upload;
};

// One open connection, which lives on the stack of its thread.
struct Connection {
  Connection(ConnectionTable::Entry& listed, const ServerOptions& options)
      : entry(listed),
        socket(listed.socket()),
        reader(socket, {.header_bytes = options.max_header_bytes,
                        .body_bytes = options.max_body_bytes,
                        .time = options.request_timeout}) {
    request.remote_address = entry.address();
  }

  ConnectionTable::Entry& entry;
  const int socket;
  RequestReader reader;
  Request request;
  Response response;
  std::string head;  // the answer's, kept for its memory
  Version version = Version::http_1_1;
  Persistence persistence = Persistence::keep_alive;
  // The client of the latest request, whose claims are kept for its next one: all requests of a
  // connection have the same client, unless a proxy mixes them.
  std::string client;
  Claimant claimant;
  std::optional<Claims> claims;
};

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, Handler handler);
  ~Impl() { shutdown(std::chrono::seconds(0)); }

  int bind();
  void run();
  Drained shutdown(std::chrono::seconds grace);
  ServerCounters counters() const;

 private:
  bool take(Descriptor& socket);
  void serve(ConnectionTable::Entry& entry);
  void serve_requests(Connection& connection);
  bool await_request(Connection& connection, std::chrono::milliseconds patience);
  bool read_request(Connection& connection);
  void read_body(Connection& connection, const RequestHead& head);
  void claim_place(Connection& connection);
  bool stands_for_many(const std::string& address) const;
  void run_handler(Connection& connection);
  void call_handler(Connection& connection);
  void refuse(Connection& connection, int status, std::string_view detail);
  Response rendered(int status, std::string_view detail) const;
  bool answer(Connection& connection);

  bool send(Connection& connection, std::string_view first, std::string_view second = {}) const;
  bool stream(Connection& connection);
  bool stream_step(Connection& connection, Next& next);
  static bool call_stream(Connection& connection, const Sink& sink, Next& next);

  const ServerOptions options_;
  const Handler handler_;
  std::unique_ptr<Acceptor> acceptor_;
  const std::string common_fields_;  // options_.headers as text
  Pools pools_;
  std::atomic<bool> draining_ = false;
  std::atomic<std::size_t> open_streams_ = 0;
  std::atomic<std::uint64_t> refused_requests_ = 0;
  ConnectionTable table_;
  ConnectionPool pool_;  // last, because its threads use everything above
};

Server::Impl::Impl(ServerOptions options, Handler handler)
    : options_(std::move(options)),
      handler_(std::move(handler)),
      common_fields_(to_text(options_.headers)),
      pools_(options_),
      table_(options_.connections),
      pool_([this](const ConnectionPool::Connection& connection) { serve(*connection); }) {}

int Server::Impl::bind() {
  acceptor_ = std::make_unique<Acceptor>(
      options_.host, options_.port,
      render_busy(rendered(503, "the server has too many open connections"), options_.headers),
      [this](Descriptor& connection) { return take(connection); });
  return acceptor_->port();
}

void Server::Impl::run() {
  if (!acceptor_) throw std::logic_error("bind() must be called before run()");
  acceptor_->run();
}

Drained Server::Impl::shutdown(std::chrono::seconds grace) {
  draining_ = true;
  if (acceptor_) acceptor_->stop();
  table_.for_each([](const ConnectionTable::Entry& entry) {
    // Only the receiving half is closed, so that a request which arrives at this moment is still
    // answered.
    if (entry.activity() == Activity::waiting) ::shutdown(entry.socket(), SHUT_RD);
  });
  if (pool_.wait_until_empty(after(grace))) return Drained::all;
  pools_.handlers.close();
  pools_.large_bodies.close();
  pools_.uploads.close();
  Drained drained = Drained::all;
  table_.for_each([&](const ConnectionTable::Entry& entry) {
    const Activity activity = entry.activity();
    if (activity != Activity::waiting && activity != Activity::ending)
      drained = Drained::some_cut_off;
    ::shutdown(entry.socket(), SHUT_RDWR);
  });
  pool_.wait_until_empty(after(cut_off_time));
  return drained;
}

ServerCounters Server::Impl::counters() const {
  return {.open_connections = table_.size(),
          .running_handlers = pools_.handlers.used(),
          .open_streams = open_streams_,
          .refused_connections = acceptor_ ? acceptor_->refused() : 0,
          .displaced_connections = table_.displaced(),
          .refused_requests = refused_requests_};
}

// Runs on the acceptor's thread. Returns false, and leaves `socket` as it was, if the connection
// has to be refused.
bool Server::Impl::take(Descriptor& socket) {
  ConnectionPool::Connection connection = table_.admit(socket);
  if (!connection) return false;
  if (pool_.submit(connection)) return true;
  socket = table_.take_back(std::move(connection));
  return false;
}

void Server::Impl::serve(ConnectionTable::Entry& entry) try {
  const int on = 1;
  setsockopt(entry.socket(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  Connection connection(entry, options_);
  serve_requests(connection);
} catch (const std::exception& error) {
  log::error("a connection was abandoned", {{"reason", error.what()}});
}

void Server::Impl::serve_requests(Connection& connection) {
  std::chrono::milliseconds patience = options_.request_timeout;
  while (await_request(connection, patience)) {
    if (!read_request(connection) || !answer(connection)) return;
    if (connection.claims) connection.claims->request.release();
    if (connection.persistence == Persistence::close) {
      connection.entry.set_activity(Activity::ending);
      return end_gently(connection.socket);
    }
    patience = options_.keep_alive_timeout;
  }
}

bool Server::Impl::await_request(Connection& connection, std::chrono::milliseconds patience) {
  // Either this thread sees that the server is draining, or shutdown() sees that the connection is
  // idle.
  connection.entry.set_activity(Activity::waiting);
  const Io io = connection.reader.await(draining_ ? std::chrono::milliseconds(0) : patience);
  if (io != Io::ok) return false;
  connection.entry.set_activity(Activity::reading);
  return true;
}

// Reads a request and computes its answer. Returns false if nobody is left to answer.
bool Server::Impl::read_request(Connection& connection) {
  connection.response = Response{};
  try {
    const RequestHead head = connection.reader.read_head(connection.request);
    connection.version = head.version;
    connection.persistence = head.persistence;
    claim_place(connection);
    read_body(connection, head);
    connection.entry.set_activity(Activity::handling);
    run_handler(connection);
    if (connection.response.caller_is_known) connection.entry.set_known();
  } catch (const Refusal& refusal) {
    refuse(connection, refusal.status, refusal.what());
  } catch (const ConnectionLost&) {
    return false;
  }
  return true;
}

void Server::Impl::read_body(Connection& connection, const RequestHead& head) {
  Request& request = connection.request;
  const auto upload =
      options_.place_of_body ? options_.place_of_body(request) : std::optional<Upload>();
  if (!upload) {
    connection.reader.read_body(head, request, connection.claims->large_body);
  } else if (upload->kind == Upload::Kind::unread) {
    if (head.framing != Framing::none) connection.persistence = Persistence::close;
  } else {
    if (!connection.claims->upload.wait(after(options_.request_timeout)))
      throw Refusal(503, "too many uploads are being received; try again");
    connection.reader.read_to_file(head, request, *upload);
  }
}

// Takes one of the places for requests, for the client that the head names.
void Server::Impl::claim_place(Connection& connection) {
  const Request& request = connection.request;
  std::string client = options_.client_address ? options_.client_address(request)
                                               : std::string(request.remote_address);
  if (!connection.claims || connection.client != client) {
    connection.client = std::move(client);
    connection.claimant = {.address = stands_for_many(connection.client) ? "" : connection.client};
    connection.claims.emplace(pools_, connection.claimant);
  }
  const bool is_essential = options_.is_essential && options_.is_essential(request);
  connection.claimant.standing = is_essential ? Standing::essential : Standing::ordinary;
  const Shares::Taken taken = connection.claims->request.take(connection.claimant.standing);
  // A connection beyond the total has displaced one that still leaves, or is one of the few in
  // reserve for networks without connections: its request needs no place of its own.
  const bool is_extra = taken == Shares::Taken::full && table_.size() > options_.connections.total;
  if (taken != Shares::Taken::yes && !is_extra) throw Refusal(503, "the server is busy");
}

bool Server::Impl::stands_for_many(const std::string& address) const {
  if (options_.connections.of_network == 0) return true;
  const auto parsed = parse_ip_address(address);
  return parsed &&
         std::ranges::any_of(options_.connections.shared_addresses,
                             [&](const AddressRange& range) { return contains(range, *parsed); });
}

void Server::Impl::run_handler(Connection& connection) {
  Shares::Claim& slot = connection.claims->handler;
  if (!slot.wait(after(options_.request_timeout), connection.claimant.standing))
    throw Refusal(503, "the server is busy");
  call_handler(connection);
  slot.release();
  // Frees the memory while the answer is sent and the next request awaited.
  connection.request.body = {};
  connection.request.file.reset();
  connection.claims->large_body.release();
  connection.claims->upload.release();
  Response& response = connection.response;
  if (!is_sendable(response)) {
    log::error("an answer couldn't be sent", {{"path", connection.request.path}});
    response = rendered(500, "the server failed");
  }
  if (has_no_body(response.status)) {
    response.body.clear();
    response.stream = nullptr;
  }
}

void Server::Impl::call_handler(Connection& connection) {
  const ClaimantOfThread claimant(connection.claimant);
  std::string reason = "unknown exception";
  try {
    return handler_(connection.request, connection.response);
  } catch (const std::exception& error) {
    reason = error.what();
  } catch (...) {
  }
  log::error("a handler failed", {{"path", connection.request.path}, {"reason", reason}});
  connection.response = rendered(500, "the server failed");
}

void Server::Impl::refuse(Connection& connection, int status, std::string_view detail) {
  ++refused_requests_;
  connection.request.file.reset();
  if (connection.claims) {
    connection.claims->large_body.release();
    connection.claims->upload.release();
  }
  connection.persistence = Persistence::close;
  connection.response = rendered(status, detail);
}

Response Server::Impl::rendered(int status, std::string_view detail) const {
  return options_.render_refusal ? options_.render_refusal(status, detail)
                                 : plain_refusal(status, detail);
}

// Sends the answer. Returns false if the connection broke.
bool Server::Impl::answer(Connection& connection) {
  struct Counted {
    std::atomic<std::size_t>* streams;
    ~Counted() {
      if (streams != nullptr) --*streams;
    }
  };
  const Counted counted{connection.response.stream ? &open_streams_ : nullptr};
  if (counted.streams != nullptr) ++open_streams_;
  connection.entry.set_activity(connection.response.stream ? Activity::streaming
                                                           : Activity::sending);

  if (draining_ || connection.entry.is_leaving()) connection.persistence = Persistence::close;
  const Response& response = connection.response;
  begin_head(connection.head, response, common_fields_);
  if (connection.persistence == Persistence::close) connection.head += "Connection: close\r\n";
  const bool chunked = response.stream && connection.version == Version::http_1_1;
  if (chunked) connection.head += "Transfer-Encoding: chunked\r\n";
  connection.head += line_end;
  const bool wants_body = connection.request.method != "HEAD";
  const bool sent =
      send(connection, connection.head, wants_body ? std::string_view(response.body) : "") &&
      (!response.stream || !wants_body || stream(connection));
  connection.response = Response{};
  return sent;
}

bool Server::Impl::send(Connection& connection, std::string_view first,
                        std::string_view second) const {
  return send_all(connection.socket, first, second, after(options_.write_timeout)) == Io::ok;
}

// Calls the stream until it ends. Returns false if the answer was cut off. An HTTP/1.0 answer ends
// with its connection, others with the last chunk.
bool Server::Impl::stream(Connection& connection) {
  for (Next next = Next::more; next == Next::more;) {
    if (is_peer_gone(connection.socket) || !stream_step(connection, next)) return false;
  }
  return connection.version == Version::http_1_0 || send(connection, last_chunk);
}

// Makes one call of the stream. Returns false to cut the answer off.
bool Server::Impl::stream_step(Connection& connection, Next& next) {
  bool broken = false;
  const Sink write = [&](std::string_view data) {
    if (data.empty()) return !broken;  // an empty chunk would end the body
    broken = broken || !(connection.version == Version::http_1_1 ? send(connection, to_chunk(data))
                                                                 : send(connection, data));
    return !broken;
  };
  if (draining_) {
    connection.persistence = Persistence::close;
    next = Next::end;
    return true;
  }
  return call_stream(connection, write, next) && !broken && next != Next::break_off;
}

// Returns false if the stream threw an exception.
bool Server::Impl::call_stream(Connection& connection, const Sink& sink, Next& next) {
  std::string reason = "unknown exception";
  try {
    next = connection.response.stream(sink);
    return true;
  } catch (const std::exception& error) {
    reason = error.what();
  } catch (...) {
  }
  log::error("a stream failed", {{"path", connection.request.path}, {"reason", reason}});
  return false;
}

Server::Server(ServerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handler))) {}
Server::~Server() = default;
int Server::bind() { return impl_->bind(); }
void Server::run() { impl_->run(); }
Drained Server::shutdown(std::chrono::seconds grace) { return impl_->shutdown(grace); }
ServerCounters Server::counters() const { return impl_->counters(); }

}  // namespace berth::api
