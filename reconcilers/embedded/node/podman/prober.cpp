#include "reconcilers/embedded/node/podman/prober.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "controller/base/text.h"

namespace berth::embedded::podman {
namespace {

using std::chrono::milliseconds;

// A refused connection is tried again after this time, and each further one after twice as long, up
// to the longest.
constexpr milliseconds first_pause{5};
constexpr milliseconds longest_pause{50};
// How long a connection that something between has accepted must last to be the container's.
constexpr milliseconds proxy_pause{60};
// The kubelet reads so much of a body (kubernetes, pkg/probe/http).
constexpr std::size_t most_bytes = std::size_t{10} << 10;

class Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(EventLoop& loop, const Probe& probe, std::function<void(ProbeResult)> done)
      : loop_(loop), probe_(probe), done_(std::move(done)), began_(Moment::clock::now()) {}
  ~Attempt() { close(); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  void begin() {
    timer_ = loop_.at(Moment::clock::now() + probe_.timeout,
                      [self = shared_from_this()] { self->time_out(); });
    connect();
  }

 private:
  void connect() {
    close();
    connected_ = false;
    received_.clear();
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(std::uint16_t(probe_.port));
    if (::inet_pton(AF_INET, probe_.address.c_str(), &to.sin_addr) != 1)
      return fail("dial tcp " + probe_.shown + ": no route to host");
    socket_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket_.valid()) return fail_dial(errno);
    const auto* address = reinterpret_cast<const sockaddr*>(&to);  // NOLINT(*-reinterpret-cast)
    if (::connect(socket_.get(), address, sizeof to) != 0 && errno != EINPROGRESS)
      return fail_dial(errno);
    loop_.watch(socket_.get(), EPOLLOUT,
                [self = shared_from_this()](std::uint32_t) { self->on_connected(); });
  }

  void on_connected() {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail_dial(error);
    connected_ = true;
    if (probe_.http) {
      std::string request = "GET " + probe_.path + " HTTP/1.1\r\n";
      bool has_host = false;
      for (const auto& [name, value] : probe_.headers) {
        has_host = has_host || name == "Host" || name == "host";
        request += name + ": " + value + "\r\n";
      }
      if (!has_host) request += "Host: " + probe_.shown + "\r\n";
      request += "User-Agent: kube-probe/1.37\r\nAccept: */*\r\nConnection: close\r\n\r\n";
      // A request of this size fits into the socket's empty buffer.
      if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0)
        return fail("Get \"" + url() + "\": write: " + words(errno));
    } else if (!probe_.behind_proxy) {
      return succeed();
    } else {
      pause_ = loop_.at(Moment::clock::now() + proxy_pause,
                        [self = shared_from_this()] { self->succeed(); });
    }
    loop_.watch(socket_.get(), EPOLLIN,
                [self = shared_from_this()](std::uint32_t) { self->on_readable(); });
  }

  void on_readable() {
    std::array<char, 4096> part{};
    const ssize_t size = ::recv(socket_.get(), part.data(), part.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (probe_.behind_proxy && size <= 0 && received_.empty() && !told_)
      return fail_dial(ECONNREFUSED);
    if (!probe_.http) return succeed();  // it speaks first, so it is the container
    if (size <= 0) {
      if (told_) return finish();
      return fail("Get \"" + url() +
                  "\": " + (size == 0 ? std::string("EOF") : "read: " + words(errno)));
    }
    received_.append(part.data(), size_t(size));
    if (!told_) look_at_status();
    if (told_ && received_.size() >= most_bytes) finish();
  }

  void look_at_status() {
    const size_t end = received_.find('\n');
    if (end == std::string::npos) {
      if (received_.size() > most_bytes) fail_malformed();
      return;
    }
    const std::string line = received_.substr(0, end);
    // HTTP/1.1 200 OK
    constexpr size_t at = 9;
    const auto status =
        parse_number<int>(std::string_view(line).substr(std::min(at, line.size()), 3));
    if (!line.starts_with("HTTP/1.") || !status) return fail_malformed();
    if (*status >= 200 && *status < 400)
      tell({.succeeded = true, .message = ""});
    else
      tell({.succeeded = false,
            .message = "HTTP probe failed with statuscode: " + std::to_string(*status)});
    // The rest is read, so that the program doesn't see a broken connection.
  }

  void fail_malformed() {
    const std::string line = received_.substr(0, received_.find_first_of("\r\n"));
    fail("Get \"" + url() + "\": net/http: HTTP/1.x transport connection broken: malformed HTTP " +
         "response \"" + shown(line) + "\"");
  }

  void fail_dial(int error) {
    const Moment now = Moment::clock::now();
    if (error == ECONNREFUSED && now + pause_length_ < began_ + probe_.patience) {
      close();
      pause_ = loop_.at(now + pause_length_, [self = shared_from_this()] { self->connect(); });
      pause_length_ = std::min(2 * pause_length_, longest_pause);
      return;
    }
    const std::string dial = "dial tcp " + probe_.shown + ": connect: " + words(error);
    tell({.succeeded = false,
          .message = probe_.http ? "Get \"" + url() + "\": " + dial : dial,
          .no_network = error == EHOSTUNREACH && !probe_.behind_proxy});
    finish();
  }

  void time_out() {
    if (told_) return finish();
    const std::string late = "dial tcp " + probe_.shown + ": i/o timeout";
    if (!probe_.http)
      fail(late);
    else if (connected_)
      fail("Get \"" + url() +
           "\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
    else
      fail("Get \"" + url() + "\": " + late);
  }

  std::string url() const { return "http://" + probe_.shown + probe_.path; }
  static std::string words(int error) {
    switch (error) {
      case ECONNREFUSED:
        return "connection refused";
      case ECONNRESET:
        return "connection reset by peer";
      case EHOSTUNREACH:
        return "no route to host";
      case ENETUNREACH:
        return "network is unreachable";
      default:
        return std::generic_category().message(error);
    }
  }

  void tell(const ProbeResult& result) {
    if (told_) return;
    told_ = true;
    done_(result);
  }
  void fail(const std::string& message) {
    tell({.succeeded = false, .message = message});
    finish();
  }
  void succeed() {
    tell({.succeeded = true, .message = ""});
    finish();
  }
  // Afterwards nothing refers to this object but the caller's own reference.
  void finish() {
    close();
    loop_.cancel(timer_);
    loop_.cancel(pause_);
  }
  void close() {
    if (!socket_.valid()) return;
    loop_.forget(socket_.get());
    socket_ = Descriptor();
  }

  EventLoop& loop_;
  const Probe probe_;
  std::function<void(ProbeResult)> done_;
  const Moment began_;
  Descriptor socket_;
  EventLoop::Timer timer_ = 0;
  EventLoop::Timer pause_ = 0;
  milliseconds pause_length_ = first_pause;
  std::string received_;
  bool connected_ = false;
  bool told_ = false;
};

}  // namespace

void begin_probe(EventLoop& loop, const Probe& probe, std::function<void(ProbeResult)> done) {
  std::make_shared<Attempt>(loop, probe, std::move(done))->begin();
}

}  // namespace berth::embedded::podman
