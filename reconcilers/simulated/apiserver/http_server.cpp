#include "reconcilers/simulated/apiserver/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <stdexcept>
#include <vector>

#include "reconcilers/simulated/apiserver/refusal.h"

namespace berth::simulated {
namespace {

constexpr const char* host = "127.0.0.1";
// Short, because down() waits for it: the library ends an idle connection only after this time.
constexpr time_t keep_alive_seconds = 2;
constexpr time_t read_seconds = 10;
// The library closes a connection after this many requests.
constexpr size_t requests_per_connection = 1'000'000;

void share_port(int socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
}

bool has_body(const httplib::Request& request) {
  return request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
}

void refuse_too_large(httplib::Response& response) {
  const std::string limit = std::to_string(HttpServer::largest_body);
  response.status = 413;
  response.set_header("Connection", "close");
  response.set_content(
      status_failure(413, "RequestEntityTooLarge", "Request entity too large: limit is " + limit)
          .dump(),
      "application/json");
}

}  // namespace

// Has a longer backlog than the library, whose backlog is five.
class HttpServer::Listener : public httplib::Server {
 public:
  void widen_backlog() { ::listen(svr_sock_, backlog); }
};

// Provides as many threads as there are simultaneous connections.
class HttpServer::Threads : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> job) override {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    if (idle_ < jobs_.size() && threads_.size() < most_threads)
      threads_.emplace_back([this] { run(); });
    changed_.notify_one();
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      changed_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
      --idle_;
      if (jobs_.empty()) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool ending_ = false;
};

HttpServer::HttpServer(Handler handler) : handler_(std::move(handler)) {
  up();
  reserve();
}

HttpServer::~HttpServer() {
  down();
  if (reservation_ >= 0) ::close(reservation_);
}

void HttpServer::reserve() {
  reservation_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  share_port(reservation_);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  inet_pton(AF_INET, host, &address.sin_addr);
  if (::bind(reservation_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("can't keep port " + std::to_string(port_) +
                             " for the simulated cluster");
}

void HttpServer::configure(httplib::Server& server) {
  server.new_task_queue = [] { return new Threads; };  // the library deletes it
  server.set_socket_options([](int socket) { share_port(socket); });
  server.set_tcp_nodelay(true);
  server.set_keep_alive_max_count(requests_per_connection);
  server.set_keep_alive_timeout(keep_alive_seconds);
  server.set_read_timeout(read_seconds);
  const auto without_body = [this](const httplib::Request& request, httplib::Response& response) {
    handler_(request, "", response);
  };
  const auto with_body = [this](const httplib::Request& request, httplib::Response& response,
                                const httplib::ContentReader& reader) {
    std::string body;
    bool fits = true;
    if (has_body(request))
      reader([&](const char* data, size_t size) {
        fits = fits && body.size() + size <= largest_body;
        if (fits) body.append(data, size);
        return fits;
      });
    if (!fits) return refuse_too_large(response);
    handler_(request, body, response);
  };
  const char* everything = "[\\s\\S]*";
  server.Get(everything, without_body);
  server.Post(everything, with_body);
  server.Put(everything, with_body);
  server.Patch(everything, with_body);
  server.Delete(everything, with_body);
}

void HttpServer::up() {
  if (listener_) return;
  listener_ = std::make_unique<Listener>();
  configure(*listener_);
  if (port_ == 0)
    port_ = listener_->bind_to_any_port(host);
  else if (!listener_->bind_to_port(host, port_))
    port_ = -1;
  if (port_ <= 0) throw std::runtime_error("the simulated cluster can't listen on 127.0.0.1");
  listener_->widen_backlog();
  thread_ = std::thread([this] { listener_->listen_after_bind(); });
  // Until then stop() would have no effect.
  while (!listener_->is_running()) std::this_thread::yield();
}

void HttpServer::down() {
  if (!listener_) return;
  listener_->stop();
  thread_.join();
  listener_.reset();
}

}  // namespace berth::simulated
