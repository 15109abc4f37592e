#include "reconcilers/embedded/apiserver/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <stdexcept>
#include <utility>

#include "controller/transport/socket.h"
#include "reconcilers/embedded/apiserver/refusal.h"

namespace berth::embedded {
namespace {

constexpr const char* loopback = "127.0.0.1";
constexpr std::chrono::seconds request_time{10};
// How long requests that are being handled may take after the server was told to stop.
constexpr std::chrono::seconds grace{30};

// Returns a refusal in the form of the Kubernetes API.
api::Response refusal(int status, std::string_view detail) {
  const std::string limit = std::to_string(HttpServer::largest_body);
  const Json body = status == 413 ? status_failure(status, "RequestEntityTooLarge",
                                                   "Request entity too large: limit is " + limit)
                                  : status_failure(status, "BadRequest", std::string(detail));
  return {.status = status, .content_type = "application/json", .body = body.dump()};
}

bool is_method_of_rest(std::string_view method) {
  for (const char* known : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
    if (method == known) return true;
  return false;
}

}  // namespace

HttpServer::HttpServer(api::Handler handler)
    : handler_([handler = std::move(handler)](const api::Request& request,
                                              api::Response& response) {
        if (is_method_of_rest(request.method)) return handler(request, response);
        response = refusal(405, "the server does not allow this method on the requested resource");
      }) {
  reserve();
  up();
}

HttpServer::~HttpServer() { down(); }

// Reserves a port with a socket that is bound and never listens. With SO_REUSEADDR, the server's
// own socket may be bound to the same port, while the system doesn't give it to anybody else.
void HttpServer::reserve() {
  reservation_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(reservation_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, loopback, &address.sin_addr);
  socklen_t length = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(reservation_.get(), any, length) != 0 ||
      ::getsockname(reservation_.get(), any, &length) != 0)
    throw std::runtime_error("no port of 127.0.0.1 is free for the simulated cluster");
  port_ = ntohs(address.sin_port);
}

void HttpServer::up() {
  if (server_) return;
  server_ =
      std::make_unique<api::Server>(api::ServerOptions{.host = loopback,
                                                       .port = port_,
                                                       .http_threads = most_connections,
                                                       .connections = {.total = most_connections},
                                                       .max_body_bytes = largest_body,
                                                       .request_timeout = request_time,
                                                       .render_refusal = refusal},
                                    handler_);
  server_->bind();
  thread_ = std::thread([this] { server_->run(); });
}

void HttpServer::down() {
  if (!server_) return;
  server_->shutdown(grace);
  thread_.join();
  server_.reset();
}

}  // namespace berth::embedded
