#pragma once

#include <sys/socket.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "controller/base/descriptor.h"
#include "reconcilers/kube/kubeconfig.h"

namespace berth::test {

namespace beast = boost::beast;
namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using HttpRequest = beast::http::request<beast::http::string_body>;

// One connection of a WebSocketServer, for the thread that serves it. Functions return false, or
// nothing, once the client has gone.
class ServedSocket {
 public:
  virtual ~ServedSocket() = default;
  // Sends the message in several frames, or in one.
  virtual bool send(const std::string& message, bool in_one_frame = false) = 0;
  virtual std::optional<std::string> receive() = 0;
  // Reads and writes nothing until the server is destroyed.
  virtual void hang() = 0;
  virtual bool ping() = 0;
};

// An API server that speaks WebSocket on a loopback port, each connection on a thread. `refuses`
// returns what a request is answered instead of 101, as status and body; requests without an
// upgrade have to be answered, too.
class WebSocketServer {
 public:
  using Answer = std::pair<int, std::string>;
  struct Behaviour {
    std::function<std::optional<Answer>(const HttpRequest&)> refuses = {};
    std::string protocol = "v5.channel.k8s.io";  // that is chosen
    std::function<void(ServedSocket&)> serve = {};
    bool accepts = true;  // otherwise requests get no answer
    // PEM, for TLS; empty: none
    std::string certificate = {}, key = {};
  };

  explicit WebSocketServer(Behaviour behaviour)
      : behaviour_(std::move(behaviour)), acceptor_(io_, {asio::ip::address_v4::loopback(), 0}) {
    if (!behaviour_.certificate.empty()) {
      tls_.emplace(asio::ssl::context::tls_server);
      tls_->use_certificate_chain(asio::buffer(behaviour_.certificate));
      tls_->use_private_key(asio::buffer(behaviour_.key), asio::ssl::context::pem);
    }
    accepting_ = std::thread([this] { accept(); });
  }
  ~WebSocketServer() {
    ending_ = true;
    {  // wakes accept()
      beast::error_code ignored;
      Tcp::socket last(io_);
      last.connect(acceptor_.local_endpoint(), ignored);
    }
    accepting_.join();
    {
      const std::scoped_lock lock(mutex_);
      for (const Descriptor& socket : sockets_) ::shutdown(socket.get(), SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
  }
  WebSocketServer(const WebSocketServer&) = delete;
  WebSocketServer& operator=(const WebSocketServer&) = delete;

  int port() const { return acceptor_.local_endpoint().port(); }
  kube::Kubeconfig config() const {
    kube::Kubeconfig config;
    config.server = (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port());
    return config;
  }
  std::vector<HttpRequest> seen() const {
    const std::scoped_lock lock(mutex_);
    return seen_;
  }

 private:
  template <class Stream>
  class Served final : public ServedSocket {
   public:
    Served(beast::websocket::stream<Stream>& stream, std::atomic<bool>& ending)
        : stream_(stream), ending_(ending) {}
    bool send(const std::string& message, bool in_one_frame) override {
      beast::error_code failed;
      stream_.auto_fragment(!in_one_frame);
      stream_.binary(true);
      stream_.write(asio::buffer(message), failed);
      return !failed;
    }
    std::optional<std::string> receive() override {
      beast::flat_buffer buffer;
      beast::error_code failed;
      stream_.read(buffer, failed);
      if (failed) return std::nullopt;
      return beast::buffers_to_string(buffer.data());
    }
    void hang() override {
      while (!ending_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    bool ping() override {
      beast::error_code failed;
      stream_.ping({}, failed);
      return !failed;
    }

   private:
    beast::websocket::stream<Stream>& stream_;
    std::atomic<bool>& ending_;
  };

  void accept() {
    for (;;) {
      beast::error_code failed;
      auto socket = std::make_shared<Tcp::socket>(io_);
      acceptor_.accept(*socket, failed);
      if (ending_) return;
      if (failed) continue;
      const std::scoped_lock lock(mutex_);
      sockets_.emplace_back(::dup(socket->native_handle()));
      threads_.emplace_back([this, socket] {
        if (tls_)
          serve(beast::ssl_stream<Tcp::socket>(std::move(*socket), *tls_));
        else
          serve(std::move(*socket));
      });
    }
  }
  template <class Stream>
  void serve(Stream stream) {
    beast::error_code failed;
    if constexpr (!std::is_same_v<Stream, Tcp::socket>)
      stream.handshake(asio::ssl::stream_base::server, failed);
    beast::websocket::stream<Stream> served_stream(std::move(stream));
    beast::flat_buffer buffer;
    HttpRequest request;
    beast::http::read(served_stream.next_layer(), buffer, request, failed);
    if (failed) return;
    {
      const std::scoped_lock lock(mutex_);
      seen_.push_back(request);
    }
    while (!behaviour_.accepts && !ending_)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (const auto answer = behaviour_.refuses ? behaviour_.refuses(request) : std::nullopt) {
      beast::http::response<beast::http::string_body> response(
          beast::http::status(unsigned(answer->first)), 11, answer->second);
      response.set("Content-Type", "application/json");
      response.keep_alive(false);
      response.prepare_payload();
      beast::http::write(served_stream.next_layer(), response, failed);
      ::shutdown(beast::get_lowest_layer(served_stream).native_handle(), SHUT_WR);
      return;
    }
    served_stream.set_option(
        beast::websocket::stream_base::decorator([this](beast::websocket::response_type& response) {
          if (!behaviour_.protocol.empty())
            response.set("Sec-WebSocket-Protocol", behaviour_.protocol);
        }));
    served_stream.accept(request, failed);
    if (failed) return;
    Served<Stream> served(served_stream, ending_);
    if (behaviour_.serve) behaviour_.serve(served);
    served_stream.close(beast::websocket::close_code::normal, failed);
  }

  const Behaviour behaviour_;
  asio::io_context io_;
  std::optional<asio::ssl::context> tls_;
  Tcp::acceptor acceptor_;
  std::atomic<bool> ending_ = false;
  mutable std::mutex mutex_;
  std::vector<HttpRequest> seen_;
  // Copies, since the numbers of closed ones may be those of others.
  std::vector<Descriptor> sockets_;
  std::vector<std::thread> threads_;
  std::thread accepting_;
};

}  // namespace berth::test
