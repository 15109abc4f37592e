#include "controller/transport/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "controller/base/log.h"
#include "controller/base/shares.h"
#include "controller/transport/acceptor.h"
#include "controller/transport/answer.h"
#include "controller/transport/connection.h"
#include "controller/transport/poller.h"
#include "controller/transport/socket.h"
#include "controller/transport/workers.h"

namespace berth::api {
namespace {

// How long after the grace the server may take to notice that connections were cut off.
constexpr std::chrono::milliseconds cut_off_time{900};

// A thread that has answered a request stays with the connection for this long, because callers
// that have much to ask send the next request at once: handing the connection over would cost more
// than the request. As many threads as there are slots for handlers may do so at the same time.
constexpr std::chrono::milliseconds stay_time{20};

// The threads that call the steps of streams, which never wait.
constexpr std::size_t stream_threads = 4;

// How long, and for how much input, a connection is kept open after its last answer. A client that
// is sending a body a little over the limit then still receives its 413. Closing a socket with
// unread input would send a reset, which can overtake and destroy the answer.
constexpr std::chrono::milliseconds linger_time{1000};
constexpr std::size_t linger_bytes = 4 * 1024 * 1024;

// Returns a descriptor that becomes readable once something was written to it.
Descriptor event_descriptor() {
  Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (event.get() < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return event;
}

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, Handler handler);
  ~Impl();

  int bind();
  void run();
  Drained shutdown(std::chrono::seconds grace);
  ServerCounters counters() const;

 private:
  using Takeable = Poller::Takeable;

  bool take(Descriptor& socket);
  void give_back(Connection& connection, Poller::Why why);
  void receive(Connection& connection);
  void time_is_up(Connection& connection);
  void ignore_input(Connection& connection);
  void park(Connection& connection, std::uint32_t events, Deadline deadline,
            Takeable takeable = Takeable::no);
  void wake(Connection& connection);
  void resume(Connection& connection);
  void end(Connection& connection);

  // These run on a thread that has the connection for itself. They return whether it goes on at
  // once; otherwise somebody else has it now, or it is gone.
  void serve(Connection& connection);
  bool proceed(Connection& connection);
  bool await_request(Connection& connection);
  bool begin_request(Connection& connection);
  bool read_head(Connection& connection);
  bool read_body(Connection& connection);
  bool read_upload(Connection& connection);
  bool queue(Connection& connection, Shares::Claim& claim, Standing standing, State state,
             Deadline deadline);
  bool queue_for_handler(Connection& connection);
  bool run_handler(Connection& connection);
  bool refuse(Connection& connection);
  bool answer(Connection& connection);
  bool send(Connection& connection);
  bool after_sending(Connection& connection);
  void begin_stream(Connection& connection);
  bool end_stream(Connection& connection);
  void begin_upgraded(Connection& connection);
  void run_upgraded(Connection& connection);

  bool finish(Connection& connection);

  void claim_place(Connection& connection);
  bool stands_for_many(const std::string& address) const;
  void call_handler(Connection& connection);
  Response rendered(int status, std::string_view detail) const;

  void step_stream(Connection& connection);
  bool call_stream(Connection& connection);
  void wait_for_news(Connection& connection);

  const ServerOptions options_;
  const Handler handler_;
  std::unique_ptr<Acceptor> acceptor_;
  const std::string common_fields_;  // options_.headers as text
  Pools pools_;
  std::atomic<bool> draining_ = false;
  std::atomic<std::size_t> staying_ = 0;  // threads that wait for a connection's next request
  std::atomic<std::uint64_t> refused_requests_ = 0;
  mutable std::mutex streams_mutex_;
  std::unordered_set<Connection*> streams_;
  ConnectionTable table_;
  const Descriptor ending_ = event_descriptor();  // readable once the server shuts down
  std::atomic<std::size_t> upgraded_ = 0;
  // Last, because their threads use everything above.
  Poller poller_;
  Workers workers_;
  Workers stream_workers_;
  Workers upgraded_workers_;
};

Server::Impl::Impl(ServerOptions options, Handler handler)
    : options_(std::move(options)),
      handler_(std::move(handler)),
      common_fields_(to_text(options_.headers)),
      pools_{.requests = {Pool::requests, options_.connections.total},
             .handlers = {Pool::handlers, options_.http_threads},
             .large_bodies = {Pool::large_bodies, options_.max_large_bodies},
             .uploads = {Pool::uploads, options_.max_uploads}},
      table_(options_.connections),
      poller_([this](Poller::Watched& watched, Poller::Why why) {
        give_back(static_cast<Connection&>(watched), why);
      }),
      // For handlers, for connections that are stayed with, for uploads, and to read heads.
      workers_("http", 2 * options_.http_threads + options_.max_uploads + stream_threads,
               Workers::First::stays,
               [this](Connection& connection) {
                 connection.state == State::streaming ? step_stream(connection) : serve(connection);
               }),
      stream_workers_("streams", stream_threads, Workers::First::ends,
                      [this](Connection& connection) { step_stream(connection); }),
      upgraded_workers_("upgraded", options_.max_upgraded, Workers::First::ends,
                        [this](Connection& connection) { run_upgraded(connection); }) {}

// Waits for handlers that still run.
Server::Impl::~Impl() {
  shutdown(std::chrono::seconds(0));
  while (!table_.wait_until_empty(after(std::chrono::hours(1)))) {
  }
}

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
  eventfd_write(ending_.get(), 1);
  if (acceptor_) acceptor_->stop();
  table_.for_each([](const ConnectionTable::Entry& entry) {
    // Only the receiving half is closed, so that a request which arrives at this moment is still
    // answered.
    if (entry.activity() == Activity::waiting) ::shutdown(entry.socket(), SHUT_RD);
  });
  {
    const std::lock_guard lock(streams_mutex_);
    for (Connection* const connection : streams_) wake(*connection);
  }
  if (table_.wait_until_empty(after(grace))) return Drained::all;
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
  table_.wait_until_empty(after(cut_off_time));
  return drained;
}

ServerCounters Server::Impl::counters() const {
  const std::size_t open_streams = [&] {
    const std::lock_guard lock(streams_mutex_);
    return streams_.size();
  }();
  return {.open_connections = table_.size(),
          .running_handlers = pools_.handlers.used(),
          .open_streams = open_streams,
          .upgraded_connections = upgraded_,
          .refused_connections = acceptor_ ? acceptor_->refused() : 0,
          .displaced_connections = table_.displaced(),
          .refused_requests = refused_requests_};
}

// Runs on the acceptor's thread. Returns false, and leaves `socket` as it was, if the connection
// has to be refused.
bool Server::Impl::take(Descriptor& socket) {
  std::unique_ptr<ConnectionTable::Entry> entry = table_.admit(socket);
  if (!entry) return false;
  const int on = 1;
  setsockopt(entry->socket(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // Either this thread sees that the server is draining, or shutdown() sees the connection.
  if (draining_) ::shutdown(entry->socket(), SHUT_RD);
  auto connection = std::make_unique<Connection>(
      std::move(entry), RequestLimits{.header_bytes = options_.max_header_bytes,
                                      .body_bytes = options_.max_body_bytes,
                                      .time = options_.request_timeout});
  connection->until = after(options_.request_timeout);
  park(*connection.release(), EPOLLIN, after(options_.request_timeout));
  return true;
}

// Gives the connection to the Poller. The caller must not use it any more.
void Server::Impl::park(Connection& connection, std::uint32_t events, Deadline deadline,
                        Takeable takeable) try {
  if (!poller_.watch(connection, events, deadline, takeable)) resume(connection);
} catch (const std::exception& error) {
  log::error("a connection was abandoned", {{"reason", error.what()}});
  end(connection);
}

void Server::Impl::wake(Connection& connection) {
  if (poller_.tell(connection)) resume(connection);
}

// If the system can't start a thread for streams, the other threads make their steps.
void Server::Impl::resume(Connection& connection) {
  if (connection.state == State::streaming && stream_workers_.submit(connection)) return;
  workers_.submit(connection);
}

// Closes the connection. A stream or a takeover is destroyed by a thread that may wait.
void Server::Impl::end(Connection& connection) {
  if (!connection.response.stream && !connection.response.takeover) {
    poller_.drop(connection);
    delete &connection;
    return;
  }
  connection.is_lost = true;
  connection.state = State::stream_over;
  resume(connection);
}

// Runs on the Poller's thread, and must not wait.
void Server::Impl::give_back(Connection& connection, Poller::Why why) {
  const bool in_time = why == Poller::Why::event;
  switch (connection.state) {
    case State::waiting:
    case State::reading_head:
    case State::reading_body:
      return in_time ? receive(connection) : time_is_up(connection);
    case State::for_large_body:
    case State::for_upload:
      // What was displaced makes room at once.
      if (in_time && connection.entry->is_leaving()) return resume(connection);
      [[fallthrough]];
    case State::for_handler:
      return in_time ? park(connection, 0, connection.until, Takeable::yes) : resume(connection);
    case State::sending:
      if (!in_time) return end(connection);
      if (send(connection)) resume(connection);
      return;
    case State::streaming:
      if (!in_time) return resume(connection);
      return is_peer_gone(connection.socket) ? end(connection) : wait_for_news(connection);
    case State::ending:
      return in_time ? ignore_input(connection) : end(connection);
    case State::upgraded:  // isn't watched
    case State::stream_over:
    case State::over:
      return resume(connection);
  }
}

// Reads what has arrived of a request, and has a thread look at it once it is complete.
void Server::Impl::receive(Connection& connection) {
  const Io io = connection.reader.fill();
  if (io == Io::closed) return end(connection);
  if (connection.state == State::waiting) {
    if (io == Io::timed_out) {
      connection.reader.free_buffer();
      return park(connection, EPOLLIN, connection.until);
    }
    begin_request(connection);
  }
  bool is_complete = true;
  try {
    if (connection.state == State::reading_head)
      is_complete = connection.reader.has_head();
    else
      is_complete = connection.reader.read_body(connection.request,
                                                connection.claims->large_body.has_place()) !=
                    RequestReader::Body::needs_input;
  } catch (const Refusal& refusal) {
    connection.refusal = refusal;
  } catch (const std::exception& error) {
    log::error("a connection was abandoned", {{"reason", error.what()}});
    return end(connection);
  }
  if (is_complete) return resume(connection);
  park(connection, EPOLLIN, connection.reader.deadline());
}

void Server::Impl::time_is_up(Connection& connection) {
  // Nothing was requested, so nothing is answered.
  if (connection.state == State::waiting) return end(connection);
  connection.refusal = Refusal(408, "the request took too long");
  resume(connection);
}

void Server::Impl::ignore_input(Connection& connection) {
  static thread_local std::array<char, 16 * 1024> ignored;
  const Received received = receive_now(connection.socket, ignored.data(), ignored.size());
  connection.ignored += received.bytes;
  if (received.io == Io::closed || connection.ignored >= linger_bytes) return end(connection);
  park(connection, EPOLLIN, connection.until);
}

void Server::Impl::serve(Connection& connection) {
  while (true) {
    try {
      if (!proceed(connection)) return;
    } catch (const Refusal& refusal) {
      connection.refusal = refusal;
    } catch (const ConnectionLost&) {
      return end(connection);
    } catch (const std::exception& error) {
      log::error("a connection was abandoned", {{"reason", error.what()}});
      return end(connection);
    }
  }
}

bool Server::Impl::proceed(Connection& connection) {
  if (connection.refusal) return refuse(connection);
  switch (connection.state) {
    case State::waiting:
      return await_request(connection);
    case State::reading_head:
      return read_head(connection);
    case State::reading_body:
      return read_body(connection);
    case State::for_large_body:
      if (!connection.claims->large_body.leave_queue())
        throw Refusal(503, "too many large bodies are being received; try again");
      connection.state = State::reading_body;
      return true;
    case State::for_upload:
      return read_upload(connection);
    case State::for_handler:
      return run_handler(connection);
    case State::sending:
      return send(connection);
    case State::streaming:
      resume(connection);
      return false;
    case State::upgraded:
      begin_upgraded(connection);
      return false;
    case State::stream_over:
      return end_stream(connection);
    case State::ending:
      park(connection, EPOLLIN, connection.until);
      return false;
    case State::over:
      break;
  }
  end(connection);
  return false;
}

// Stays with the connection for a moment, and then gives it to the Poller.
bool Server::Impl::await_request(Connection& connection) {
  // Either this thread sees that the server is draining, or shutdown() sees that the connection is
  // idle.
  connection.entry->set_activity(Activity::waiting);
  RequestReader& reader = connection.reader;
  Io io = Io::timed_out;
  if (draining_) {
    io = reader.has_input() ? Io::ok : reader.fill();
    if (io == Io::timed_out) io = Io::closed;
  } else if (reader.has_input()) {
    io = Io::ok;
  } else if (++staying_ <= options_.http_threads && !workers_.has_waiting()) {
    io = reader.await(stay_time);
    --staying_;
  } else {
    --staying_;
  }
  if (io == Io::ok) return begin_request(connection);
  if (io == Io::closed) {
    end(connection);
    return false;
  }
  connection.forget_request();
  free_memory(connection.out);
  connection.until = after(options_.keep_alive_timeout);
  park(connection, EPOLLIN, connection.until);
  return false;
}

bool Server::Impl::begin_request(Connection& connection) {
  connection.entry->set_activity(Activity::reading);
  connection.reader.begin();
  // A refusal before the head was read has a body.
  connection.request.method = {};
  connection.state = State::reading_head;
  return true;
}

bool Server::Impl::read_head(Connection& connection) {
  RequestReader& reader = connection.reader;
  if (!reader.has_head()) {
    park(connection, EPOLLIN, reader.deadline());
    return false;
  }
  Request& request = connection.request;
  connection.response = Response{};
  connection.head = reader.take_head(request);
  connection.persistence = connection.head.persistence;
  claim_place(connection);
  connection.upload =
      options_.place_of_body ? options_.place_of_body(request) : std::optional<Upload>();
  if (!connection.upload) {
    reader.begin_body(connection.head);
    connection.state = State::reading_body;
    return true;
  }
  if (connection.upload->kind == Upload::Kind::to_file)
    return queue(connection, connection.claims->upload, Standing::ordinary, State::for_upload,
                 after(options_.request_timeout));
  if (connection.head.framing != Framing::none) connection.persistence = Persistence::close;
  return queue_for_handler(connection);
}

bool Server::Impl::read_body(Connection& connection) {
  RequestReader& reader = connection.reader;
  Shares::Claim& place = connection.claims->large_body;
  while (true) {
    switch (reader.read_body(connection.request, place.has_place())) {
      case RequestReader::Body::complete:
        return queue_for_handler(connection);
      case RequestReader::Body::needs_place:
        return queue(connection, place, Standing::ordinary, State::for_large_body,
                     reader.deadline());
      case RequestReader::Body::needs_input:
        break;
    }
    const Io io = reader.fill();
    if (io == Io::closed) throw ConnectionLost{};
    if (io == Io::ok) continue;
    park(connection, EPOLLIN, reader.deadline());
    return false;
  }
}

// An upload is written to the disk, so it has a thread while it arrives; there are few of them.
bool Server::Impl::read_upload(Connection& connection) {
  if (!connection.claims->upload.leave_queue())
    throw Refusal(503, "too many uploads are being received; try again");
  connection.reader.read_to_file(connection.head, connection.request, *connection.upload);
  return queue_for_handler(connection);
}

// Waits for a place, without a thread, if there is none. The connection goes on in that state.
bool Server::Impl::queue(Connection& connection, Shares::Claim& claim, Standing standing,
                         State state, Deadline deadline) {
  connection.state = state;
  connection.until = deadline;
  connection.clear_news();
  if (claim.queue(standing, [this, &connection] { wake(connection); })) return true;
  // A connection whose request isn't complete may be displaced meanwhile (ConnectionTable), which
  // shuts its receiving half.
  const std::uint32_t events = state == State::for_handler ? 0U : std::uint32_t{EPOLLRDHUP};
  park(connection, events, deadline, Takeable::yes);
  return false;
}

bool Server::Impl::queue_for_handler(Connection& connection) {
  connection.entry->set_activity(Activity::handling);
  return queue(connection, connection.claims->handler, connection.claimant.standing,
               State::for_handler, after(options_.request_timeout));
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

bool Server::Impl::run_handler(Connection& connection) {
  Shares::Claim& slot = connection.claims->handler;
  if (!slot.leave_queue()) throw Refusal(503, "the server is busy");
  call_handler(connection);
  slot.release();
  // Frees the memory while the answer is sent and the next request awaited.
  free_memory(connection.request.body);
  connection.request.file.reset();
  connection.claims->large_body.release();
  connection.claims->upload.release();
  Response& response = connection.response;
  if (response.takeover && connection.head.version != Version::http_1_1)
    response = rendered(400, "an upgrade needs HTTP/1.1");
  if (!is_sendable(response)) {
    log::error("an answer couldn't be sent", {{"path", connection.request.path}});
    response = rendered(500, "the server failed");
  }
  if (has_no_body(response.status)) {
    response.body.clear();
    response.stream = {};
  }
  if (response.caller_is_known) connection.entry->set_known();
  return answer(connection);
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

bool Server::Impl::refuse(Connection& connection) {
  ++refused_requests_;
  const Refusal refusal = *connection.refusal;
  connection.refusal.reset();
  connection.request.file.reset();
  free_memory(connection.request.body);
  if (connection.claims) {
    connection.claims->large_body.release();
    connection.claims->upload.release();
  }
  connection.persistence = Persistence::close;
  connection.response = rendered(refusal.status, refusal.what());
  return answer(connection);
}

Response Server::Impl::rendered(int status, std::string_view detail) const {
  return options_.render_refusal ? options_.render_refusal(status, detail)
                                 : plain_refusal(status, detail);
}

// Sends the answer, or begins to.
bool Server::Impl::answer(Connection& connection) {
  Response& response = connection.response;
  connection.entry->set_activity(response.stream || response.takeover ? Activity::streaming
                                                                      : Activity::sending);
  if (draining_ || connection.entry->is_leaving()) connection.persistence = Persistence::close;
  begin_head(connection.out, response, common_fields_);
  // Whoever sends Upgrade has to send this as well (RFC 9110, section 7.8).
  if (response.takeover || response.status == upgrade_required)
    connection.out += "Connection: Upgrade\r\n";
  if (!response.takeover && connection.persistence == Persistence::close)
    connection.out += "Connection: close\r\n";
  if (response.stream && connection.head.version == Version::http_1_1)
    connection.out += "Transfer-Encoding: chunked\r\n";
  connection.out += line_end;
  if (connection.request.method == "HEAD") {
    response.body.clear();
    response.stream = {};
  }
  if (response.stream) begin_stream(connection);
  connection.state = State::sending;
  connection.sent = 0;
  connection.send_until = after(options_.write_timeout);
  return send(connection);
}

// Sends what there is to send: `out`, and then the answer's body.
bool Server::Impl::send(Connection& connection) {
  std::string_view first = connection.out;
  std::string_view second = connection.response.body;
  const std::size_t of_first = std::min(connection.sent, first.size());
  first.remove_prefix(of_first);
  second.remove_prefix(connection.sent - of_first);
  const Sent sent = send_now(connection.socket, first, second);
  connection.sent += sent.bytes;
  if (sent.io == Io::ok) return after_sending(connection);
  if (sent.io == Io::closed)
    end(connection);
  else
    park(connection, EPOLLOUT, connection.send_until);
  return false;
}

bool Server::Impl::after_sending(Connection& connection) {
  if (connection.response.takeover) {
    connection.state = State::upgraded;
    return true;
  }
  if (!connection.response.stream) return finish(connection);
  switch (connection.next.kind) {
    case Next::more:
      connection.state = State::streaming;
      return true;
    case Next::news:
      wait_for_news(connection);
      return false;
    case Next::break_off:
      connection.is_lost = true;
      break;
    case Next::end:
      break;
  }
  connection.state = State::stream_over;
  return true;
}

// The answer was sent. The next request comes, or the end.
bool Server::Impl::finish(Connection& connection) {
  free_memory(connection.response);
  if (connection.claims) connection.claims->request.release();
  connection.state = State::waiting;
  if (connection.persistence == Persistence::keep_alive) return true;
  connection.entry->set_activity(Activity::ending);
  connection.state = State::ending;
  connection.until = after(linger_time);
  connection.ignored = 0;
  ::shutdown(connection.socket, SHUT_WR);
  park(connection, EPOLLIN, connection.until);
  return false;
}

void Server::Impl::begin_stream(Connection& connection) {
  connection.next = Next::more;
  free_memory(connection.response.headers);
  connection.path = std::string(connection.request.path);
  connection.forget_request();
  {
    const std::lock_guard lock(streams_mutex_);
    streams_.insert(&connection);
  }
  if (const auto& waker = connection.response.stream.waker())
    waker->connect([this, &connection] { wake(connection); });
}

// An HTTP/1.0 answer ends with its connection, others with the last chunk.
bool Server::Impl::end_stream(Connection& connection) {
  if (const auto& waker = connection.response.stream.waker()) waker->connect({});
  {
    const std::lock_guard lock(streams_mutex_);
    streams_.erase(&connection);
  }
  free_memory(connection.response);
  free_memory(connection.path);
  if (!connection.is_lost) return finish(connection);
  end(connection);
  return false;
}

// Gives the connection to a thread of its own.
void Server::Impl::begin_upgraded(Connection& connection) {
  connection.path = std::string(connection.request.path);
  free_memory(connection.out);
  free_memory(connection.response.headers);
  if (upgraded_workers_.submit(connection)) return;
  log::error("no thread could be started for an upgraded connection", {{"path", connection.path}});
  end(connection);
}

void Server::Impl::run_upgraded(Connection& connection) {
  ++upgraded_;
  const std::string input = connection.reader.take_input();
  connection.forget_request();
  std::string reason;
  try {
    connection.response.takeover(
        {.socket = connection.socket, .input = input, .ending = ending_.get()});
  } catch (const std::exception& error) {
    reason = error.what();
  } catch (...) {
    reason = "unknown exception";
  }
  if (!reason.empty())
    log::error("an upgraded connection failed", {{"path", connection.path}, {"reason", reason}});
  free_memory(connection.path);
  free_memory(connection.response);  // destroys the takeover, which may wait
  --upgraded_;
  connection.persistence = Persistence::close;
  finish(connection);
}

// Makes one call of the stream, on a thread of stream_workers_.
void Server::Impl::step_stream(Connection& connection) {
  connection.clear_news();
  connection.out.clear();
  connection.sent = 0;
  if (draining_) {
    connection.persistence = Persistence::close;
    connection.next = Next::end;
  } else if (!call_stream(connection)) {
    connection.next = Next::break_off;
  }
  if (connection.next == Next::more && connection.out.empty() && is_peer_gone(connection.socket))
    return end(connection);
  if (connection.next == Next::end && connection.head.version == Version::http_1_1)
    connection.out += last_chunk;
  connection.state = State::sending;
  connection.send_until = after(options_.write_timeout);
  if (send(connection)) resume(connection);
}

// Returns false if the stream threw an exception.
bool Server::Impl::call_stream(Connection& connection) {
  const bool in_chunks = connection.head.version == Version::http_1_1;
  const Sink write = [&connection, in_chunks](std::string_view data) {
    if (data.empty()) return;  // an empty chunk would end the body
    if (in_chunks)
      add_chunk(connection.out, data);
    else
      connection.out += data;
  };
  std::string reason = "unknown exception";
  try {
    connection.next = connection.response.stream(write);
    return true;
  } catch (const std::exception& error) {
    reason = error.what();
  } catch (...) {
  }
  log::error("a stream failed", {{"path", connection.path}, {"reason", reason}});
  return false;
}

void Server::Impl::wait_for_news(Connection& connection) {
  free_memory(connection.out);
  connection.state = State::streaming;
  park(connection, EPOLLRDHUP, connection.next.at, Takeable::yes);
}

Server::Server(ServerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handler))) {}
Server::~Server() = default;
int Server::bind() { return impl_->bind(); }
void Server::run() { impl_->run(); }
Drained Server::shutdown(std::chrono::seconds grace) { return impl_->shutdown(grace); }
ServerCounters Server::counters() const { return impl_->counters(); }

}  // namespace berth::api
