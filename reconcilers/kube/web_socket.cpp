#include "reconcilers/kube/web_socket.h"

#include <sys/eventfd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>

#include "controller/base/descriptor.h"
#include "controller/base/url.h"
#include "reconcilers/kube/answers.h"
#include "reconcilers/kube/server_url.h"

namespace berth::kube {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using Failed = beast::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view closed_here = "the connection was closed by berth";

std::string without_brackets(const std::string& host) {
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

bool is_address(const std::string& host) {
  Failed failed;
  asio::ip::make_address(host, failed);
  return !failed;
}

// What libcurl is told for other requests (connection.cpp).
asio::ssl::context tls_context(const Access& access, bool verify) {
  using Context = asio::ssl::context;
  Context context(Context::tls_client);
  context.set_options(Context::default_workarounds | Context::no_sslv2 | Context::no_sslv3 |
                      Context::no_tlsv1 | Context::no_tlsv1_1);
  if (access.ca.empty())
    context.set_default_verify_paths();
  else
    context.add_certificate_authority(asio::buffer(access.ca));
  // As with libcurl and in Go, any certificate of the file is trusted, and not roots alone.
  ::X509_STORE_set_flags(::SSL_CTX_get_cert_store(context.native_handle()),
                         X509_V_FLAG_PARTIAL_CHAIN);
  if (!access.certificate.empty()) {
    context.use_certificate_chain(asio::buffer(access.certificate));
    context.use_private_key(asio::buffer(access.key), Context::pem);
  }
  context.set_verify_mode(verify ? asio::ssl::verify_peer : asio::ssl::verify_none);
  return context;
}

}  // namespace

// What is the same with TLS and without. Functions say on which thread they run: any, or the
// loop's. Handlers keep the object alive.
class WebSocket::State : public std::enable_shared_from_this<WebSocket::State> {
 public:
  explicit State(asio::io_context& loop)
      : loop_(loop), news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!news_.valid()) throw std::runtime_error("the process has too many open files");
  }
  virtual ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Any thread.

  void begin() {
    asio::post(loop_, [self = shared_from_this()] { self->connect(); });
  }
  // Throws ApiError.
  void wait_until_open(milliseconds patience, const std::string& what) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [this] { return open_ || ended_; }))
      throw ApiError(0, "",
                     what + ": no answer within " + std::to_string(patience.count()) + " ms");
    if (open_) return;
    HttpAnswer answer;
    answer.status = status_;
    answer.body = body_;
    answer.failure = failure_;
    throw error_of(answer, what);
  }
  const std::string& protocol() const { return protocol_; }
  void send(std::string message) {
    const auto outgoing = std::make_shared<Outgoing>();
    outgoing->message = std::move(message);
    std::unique_lock lock(mutex_);
    if (!ended_)
      asio::post(loop_, [self = shared_from_this(), outgoing] { self->enqueue(outgoing); });
    const bool in_time =
        changed_.wait_for(lock, send_time, [&] { return outgoing->done || ended_; });
    if (outgoing->done) return;
    if (in_time) throw ApiError(0, "", failure_.empty() ? "the connection has ended" : failure_);
    lock.unlock();
    const std::string why =
        "the API server took nothing for " + std::to_string(send_time.count()) + " s";
    end(why);
    throw ApiError(0, std::string(timed_out), why);
  }
  std::optional<Received> receive(milliseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return !received_.empty() || ended_; });
    if (received_.empty()) {
      if (!ended_) return std::nullopt;
      return Received{.message = {}, .ended = true, .failure = failure_};
    }
    Received next{.message = std::move(received_.front()), .ended = false, .failure = {}};
    received_.pop_front();
    const bool was_full = bytes_ >= max_queued_bytes;
    bytes_ -= next.message.size();
    if (received_.empty() && !ended_) {
      std::uint64_t ignored = 0;
      while (::read(news_.get(), &ignored, sizeof ignored) < 0 && errno == EINTR) {
      }
    }
    if (was_full && bytes_ < max_queued_bytes)
      asio::post(loop_, [self = shared_from_this()] { self->resume(); });
    return next;
  }
  int descriptor() const { return news_.get(); }
  // Ends the connection. The first reason counts.
  void end(std::string why) {
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return;
      ended_ = true;
      failure_ = std::move(why);
      tell();
    }
    asio::post(loop_, [self = shared_from_this()] { self->shut(); });
  }

 protected:
  struct Outgoing {
    std::string message;
    bool done = false;
  };

  // The loop's thread.

  virtual void connect() = 0;
  virtual void enqueue(std::shared_ptr<Outgoing> outgoing) = 0;
  virtual void resume() = 0;
  virtual void shut() = 0;

  void refuse(int status, std::string body) {
    {
      const std::lock_guard lock(mutex_);
      status_ = status;
      body_ = std::move(body);
    }
    end("refused");
  }
  void opened(std::string protocol) {
    const std::lock_guard lock(mutex_);
    protocol_ = std::move(protocol);
    open_ = true;
    changed_.notify_all();
  }
  void deliver(std::string message) {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    bytes_ += message.size();
    received_.push_back(std::move(message));
    tell();
  }
  void note_sent(Outgoing& outgoing) {
    const std::lock_guard lock(mutex_);
    outgoing.done = true;
    changed_.notify_all();
  }
  bool has_room() {
    const std::lock_guard lock(mutex_);
    return bytes_ < max_queued_bytes;
  }
  bool has_ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  asio::io_context& loop() { return loop_; }

 private:
  // The caller holds the lock.
  void tell() {
    const std::uint64_t one = 1;
    // It fails only if the counter is full, and then the descriptor is readable.
    [[maybe_unused]] const ssize_t written = ::write(news_.get(), &one, sizeof one);
    changed_.notify_all();
  }

  asio::io_context& loop_;
  const Descriptor news_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  bool ended_ = false;
  std::string protocol_;  // doesn't change any more once it is open
  int status_ = 0;        // of a refusal
  std::string body_;
  std::string failure_;
  std::deque<std::string> received_;
  std::size_t bytes_ = 0;
};

namespace {

using Plain = beast::tcp_stream;
using Tls = beast::ssl_stream<beast::tcp_stream>;

struct Target {
  std::string host, port;
  std::string name;  // for TLS
  bool verify = true;
  std::string header;
  std::string path;
  std::vector<std::string> protocols;
  Access access;
};

// A connection over `Stream`. Everything runs on the loop's thread.
template <class Stream>
class Link final : public WebSocket::State {
 public:
  static constexpr bool has_tls = std::is_same_v<Stream, Tls>;

  Link(asio::io_context& loop, Target target)
      : State(loop),
        target_(std::move(target)),
        context_(has_tls ? tls_context(target_.access, target_.verify)
                         : asio::ssl::context(asio::ssl::context::tls_client)),
        resolver_(loop),
        watch_(loop),
        socket_(stream(loop)) {}

 private:
  websocket::stream<Stream, false> stream(asio::io_context& loop) {
    if constexpr (has_tls)
      return websocket::stream<Stream, false>(loop, context_);
    else
      return websocket::stream<Stream, false>(loop);
  }
  std::shared_ptr<Link> self() { return std::static_pointer_cast<Link>(shared_from_this()); }
  Plain& lowest() { return beast::get_lowest_layer(socket_); }
  // Returns true, and ends the connection, if the step failed or wasn't wanted any more.
  bool fails(const Failed& failed) {
    if (failed) end(failed.message());
    return failed || has_ended();
  }

  void connect() override {
    if (has_ended()) return;
    resolver_.async_resolve(
        target_.host, target_.port, [self = self()](const Failed& failed, const auto& found) {
          if (self->fails(failed)) return;
          self->lowest().async_connect(found, [self](const Failed& refused, const auto&) {
            if (!self->fails(refused)) self->connected();
          });
        });
  }
  void connected() {
    Failed ignored;
    lowest().socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    lowest().socket().set_option(asio::socket_base::keep_alive(true), ignored);
    if constexpr (has_tls) {
      auto& tls = socket_.next_layer();
      // SSL_set_tlsext_host_name(3) is a macro with this call.
      if (!is_address(target_.name))
        ::SSL_ctrl(tls.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                   target_.name.data());
      if (target_.verify) tls.set_verify_callback(asio::ssl::host_name_verification(target_.name));
      tls.async_handshake(asio::ssl::stream_base::client, [self = self()](const Failed& failed) {
        if (!self->fails(failed)) self->shake_hands();
      });
    } else {
      shake_hands();
    }
  }
  void shake_hands() {
    // Deadlines are those of wait_until_open(), send() and watch().
    lowest().expires_never();
    socket_.set_option(websocket::stream_base::timeout{websocket::stream_base::none(),
                                                       websocket::stream_base::none(), false});
    socket_.set_option(websocket::stream_base::decorator(
        [this](websocket::request_type& request) { decorate(request); }));
    // take() checks the size. Beast would end only after the server has closed the connection.
    socket_.read_message_max(0);
    socket_.binary(true);
    // The server takes each frame for a message (golang.org/x/net/websocket).
    socket_.auto_fragment(false);
    socket_.async_handshake(answer_, target_.header, target_.path,
                            [self = self()](const Failed& failed) { self->shook_hands(failed); });
  }
  void decorate(websocket::request_type& request) {
    const Access& access = target_.access;
    request.set(http::field::user_agent, "berth");
    std::string protocols;
    for (const std::string& protocol : target_.protocols)
      protocols += (protocols.empty() ? "" : ", ") + protocol;
    request.set(http::field::sec_websocket_protocol, protocols);
    if (!access.authorization.empty())
      request.set(http::field::authorization, access.authorization);
    for (const std::string& field : access.impersonation) {
      const std::size_t colon = field.find(": ");
      if (colon != std::string::npos)
        request.insert(field.substr(0, colon), field.substr(colon + 2));
    }
  }
  void shook_hands(const Failed& failed) {
    target_.access = Access();
    if (failed == websocket::error::upgrade_declined)
      return refuse(int(answer_.result_int()), std::move(answer_.body()));
    if (fails(failed)) return;
    const auto chosen = answer_[http::field::sec_websocket_protocol];
    opened(std::string(chosen.data(), chosen.size()));
    heard_ = steady_clock::now();
    socket_.control_callback(
        [this](websocket::frame_type, beast::string_view) { heard_ = steady_clock::now(); });
    read();
    watch();
  }

  void read() {
    reads_ = !has_ended() && has_room();
    if (!reads_) return;
    heard_ = std::max(heard_, resumed_);
    read_piece();
  }
  // Reads at most one byte more than a message may have, whatever length a frame claims.
  void read_piece() {
    socket_.async_read_some(
        buffer_, WebSocket::max_message_bytes + 1 - buffer_.size(),
        [self = self()](const Failed& failed, std::size_t) { self->take(failed); });
  }
  void take(const Failed& failed) {
    if (!failed && buffer_.size() <= WebSocket::max_message_bytes && !socket_.is_message_done())
      return read_piece();
    reads_ = false;
    if (failed) return end(failed == websocket::error::closed ? "" : failed.message());
    if (buffer_.size() > WebSocket::max_message_bytes)
      return end("the API server sent a message of more than " +
                 std::to_string(WebSocket::max_message_bytes) + " bytes");
    heard_ = steady_clock::now();
    deliver(beast::buffers_to_string(buffer_.data()));
    buffer_.clear();
    read();
  }
  void resume() override {
    if (reads_) return;
    resumed_ = steady_clock::now();
    read();
  }

  void enqueue(std::shared_ptr<Outgoing> outgoing) override {
    outgoing_.push_back(std::move(outgoing));
    if (outgoing_.size() == 1) write();
  }
  void write() {
    if (has_ended()) return outgoing_.clear();
    socket_.async_write(asio::buffer(outgoing_.front()->message),
                        [self = self()](const Failed& failed, std::size_t) {
                          if (self->fails(failed)) return self->outgoing_.clear();
                          self->note_sent(*self->outgoing_.front());
                          self->outgoing_.pop_front();
                          if (!self->outgoing_.empty()) self->write();
                        });
  }

  void watch() {
    watch_.expires_after(WebSocket::ping_interval);
    watch_.async_wait([self = self()](const Failed& failed) {
      if (failed || self->has_ended()) return;
      self->look();
    });
  }
  void look() {
    if (reads_ && steady_clock::now() - heard_ > WebSocket::max_silence)
      return end("the API server sent nothing for " +
                 std::to_string(WebSocket::max_silence.count()) + " s");
    if (!pings_) {
      pings_ = true;
      socket_.async_ping({}, [self = self()](const Failed& failed) {
        self->pings_ = false;
        self->fails(failed);
      });
    }
    watch();
  }

  void shut() override {
    resolver_.cancel();
    watch_.cancel();
    lowest().close();
  }

  Target target_;
  asio::ssl::context context_;
  asio::ip::tcp::resolver resolver_;
  asio::steady_timer watch_;
  websocket::stream<Stream, false> socket_;
  websocket::response_type answer_;
  beast::flat_buffer buffer_;
  std::deque<std::shared_ptr<Outgoing>> outgoing_;
  bool reads_ = false;
  bool pings_ = false;
  steady_clock::time_point heard_;
  steady_clock::time_point resumed_;
};

}  // namespace

class WebSockets::Loop {
 public:
  Loop() : work_(asio::make_work_guard(context_)), thread_([this] { context_.run(); }) {}
  ~Loop() {
    context_.stop();
    thread_.join();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  asio::io_context& context() { return context_; }

 private:
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

WebSocket::WebSocket(std::shared_ptr<State> state) : state_(std::move(state)) {}
WebSocket::~WebSocket() { close(); }
const std::string& WebSocket::protocol() const { return state_->protocol(); }
void WebSocket::send(std::string message) { state_->send(std::move(message)); }
std::optional<WebSocket::Received> WebSocket::receive(milliseconds patience) {
  return state_->receive(patience);
}
int WebSocket::descriptor() const { return state_->descriptor(); }
void WebSocket::close() { state_->end(std::string(closed_here)); }

WebSockets::Server WebSockets::server_of(const Kubeconfig& config) {
  endpoint_of(config.server, config.tls_server_name);  // throws
  const auto url = parse_url(config.server);
  if (!url) throw std::invalid_argument("isn't a URL such as https://host:6443");
  Server server;
  server.tls = url->scheme == "https";
  server.verify = !config.insecure_skip_tls_verify;
  server.host = without_brackets(url->host);
  server.port = std::to_string(url->port != 0 ? url->port : port_of_scheme(url->scheme));
  server.name = config.tls_server_name.empty() ? server.host : config.tls_server_name;
  server.prefix = url->rest;
  while (server.prefix.ends_with('/')) server.prefix.pop_back();
  server.header = url->host + ":" + server.port;
  server.has_proxy = !config.proxy_url.empty();
  return server;
}

WebSockets::WebSockets(const Kubeconfig& config)
    : server_(server_of(config)), loop_(std::make_unique<Loop>()) {}

WebSockets::~WebSockets() = default;

std::unique_ptr<WebSocket> WebSockets::open(const WebSocketRequest& request, const Access& access,
                                            milliseconds patience) {
  const std::string what = "GET " + request.path.substr(0, request.path.find('?'));
  if (server_.has_proxy)
    throw ApiError(0, "", what + ": WebSockets don't go through the kubeconfig's proxy-url");
  std::shared_ptr<WebSocket::State> state;
  try {
    Target target{.host = server_.host,
                  .port = server_.port,
                  .name = server_.name,
                  .verify = server_.verify,
                  .header = server_.header,
                  .path = server_.prefix + request.path,
                  .protocols = request.protocols,
                  .access = access};
    if (server_.tls)
      state = std::make_shared<Link<Tls>>(loop_->context(), std::move(target));
    else
      state = std::make_shared<Link<Plain>>(loop_->context(), std::move(target));
  } catch (const std::runtime_error& failure) {
    throw ApiError(0, "", what + ": " + failure.what());
  }
  auto socket = std::make_unique<WebSocket>(state);
  state->begin();
  state->wait_until_open(patience, what);
  return socket;
}

}  // namespace berth::kube
