#include "reconcilers/cluster/isolation_pod.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "controller/base/address_range.h"
#include "controller/base/descriptor.h"
#include "controller/base/text.h"

namespace berth::reconcilers {
namespace {

using SteadyClock = std::chrono::steady_clock;
using nlohmann::json;

// The most targets that one container is asked to try.
constexpr size_t max_targets = 200;
constexpr std::chrono::milliseconds repeat_datagram{1'000};

// A query of DNS for the address of name.example (RFC 1035, section 4.1). Every name server answers
// it, and so do the probe's own pods.
constexpr std::array<unsigned char, 30> query = {0,   1,   1,   0,   0,   1,   0,   0, 0,   0,
                                                 0,   0,   4,   'n', 'a', 'm', 'e', 7, 'e', 'x',
                                                 'a', 'm', 'p', 'l', 'e', 0,   0,   1, 0,   1};

Descriptor open_socket(int family, int type) {
  return Descriptor(::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

struct Endpoint {
  sockaddr_storage address{};
  socklen_t size = 0;
};

Endpoint endpoint_of(const IpAddress& ip, int port) {
  Endpoint to;
  if (ip.family == AF_INET) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(std::uint16_t(port));
    std::memcpy(&four.sin_addr, ip.bytes.data(), sizeof four.sin_addr);
    std::memcpy(&to.address, &four, sizeof four);
    to.size = sizeof four;
  } else {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(std::uint16_t(port));
    std::memcpy(&six.sin6_addr, ip.bytes.data(), sizeof six.sin6_addr);
    std::memcpy(&to.address, &six, sizeof six);
    to.size = sizeof six;
  }
  return to;
}

int port_of(const std::string& text) {
  const auto port = parse_number<int>(text);
  if (!port || *port < 0 || *port > max_port)
    throw std::invalid_argument("not a number up to " + std::to_string(max_port) + ": " + text);
  return *port;
}

// The default route's gateway (proc(5), /proc/net/route, in the machine's byte order).
std::string gateway() {
  std::ifstream routes("/proc/net/route");
  std::string line;
  std::getline(routes, line);
  while (std::getline(routes, line)) {
    std::istringstream fields(line);
    std::string interface;
    std::string destination;
    std::string via;
    fields >> interface >> destination >> via;
    std::uint32_t bits = 0;
    const auto [end, error] = std::from_chars(via.data(), via.data() + via.size(), bits, 16);
    if (destination != "00000000" || error != std::errc() || bits == 0) continue;
    IpAddress address = {.family = AF_INET};
    std::memcpy(address.bytes.data(), &bits, sizeof bits);
    return to_string(address);
  }
  return "";
}

std::string name_server() {
  std::ifstream file("/etc/resolv.conf");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key;
    std::string address;
    words >> key >> address;
    if (key == "nameserver") return address;
  }
  return "";
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): there is one thread
  return value == nullptr ? "" : value;
}

// Where a target leads; nothing if the container doesn't know.
std::optional<Endpoint> resolve(const std::string& address, int port) {
  std::string known = address;
  if (address == "@gateway") known = gateway();
  if (address == "@dns") known = name_server();
  if (address == "@api") {
    known = variable("KUBERNETES_SERVICE_HOST");
    const std::string its_port = variable("KUBERNETES_SERVICE_PORT");
    if (its_port.empty()) return std::nullopt;
    port = port_of(its_port);
  }
  const auto ip = parse_ip_address(known);
  if (!ip) return std::nullopt;
  return endpoint_of(*ip, port);
}

class Attempt {
 public:
  explicit Attempt(std::string target) : target_(std::move(target)) {
    const size_t first = target_.find('/');
    const size_t last = target_.rfind('/');
    const std::string protocol = target_.substr(0, first);
    if (first == last || (protocol != "tcp" && protocol != "udp"))
      throw std::invalid_argument("not a target: " + target_);
    is_datagram_ = protocol == "udp";
    const int port = port_of(target_.substr(last + 1));
    to_ = resolve(target_.substr(first + 1, last - first - 1), port);
    if (to_) begin();
  }

  const std::string& target() const { return target_; }
  bool is_untried() const { return !to_; }
  bool waits() const { return to_ && answer_.empty(); }
  pollfd waiting() const {
    return {.fd = socket_.get(), .events = short(is_datagram_ ? POLLIN : POLLOUT), .revents = 0};
  }
  void repeat() {
    if (is_datagram_ && waits()) send();
  }
  // Called when poll() reports an event of the socket.
  void look() {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    std::array<char, 512> received{};
    if (error == 0 && is_datagram_ &&
        ::recv(socket_.get(), received.data(), received.size(), 0) < 0)
      error = errno;
    if (error != EAGAIN) end(error);
  }
  std::string answer() const { return answer_.empty() ? "silence" : answer_; }

 private:
  void begin() {
    socket_ = open_socket(to_->address.ss_family, is_datagram_ ? SOCK_DGRAM : SOCK_STREAM);
    if (!socket_.valid()) return end(errno);
    const auto* address =
        reinterpret_cast<const sockaddr*>(&to_->address);  // NOLINT(*-reinterpret-cast): POSIX
    if (::connect(socket_.get(), address, to_->size) != 0 && errno != EINPROGRESS)
      return end(errno);
    if (is_datagram_) send();
  }
  void send() {
    if (::send(socket_.get(), query.data(), query.size(), MSG_NOSIGNAL) < 0 && errno != EAGAIN)
      end(errno);
  }
  void end(int error) {
    answer_ = error == 0              ? "answer"
              : error == ECONNREFUSED ? "refused"
                                      : std::error_code(error, std::generic_category()).message();
  }

  const std::string target_;
  bool is_datagram_ = false;
  std::optional<Endpoint> to_;
  Descriptor socket_;
  std::string answer_;
};

void wait_for_answers(std::vector<Attempt>& attempts) {
  const auto until = SteadyClock::now() + std::chrono::seconds(probe_silence_seconds);
  auto repeat_at = SteadyClock::now() + repeat_datagram;
  while (SteadyClock::now() < until) {
    std::vector<pollfd> waiting;
    std::vector<Attempt*> whose;
    for (Attempt& attempt : attempts) {
      if (!attempt.waits()) continue;
      waiting.push_back(attempt.waiting());
      whose.push_back(&attempt);
    }
    if (waiting.empty()) return;
    const auto left = std::min(until, repeat_at) - SteadyClock::now();
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (::poll(waiting.data(), waiting.size(), int(std::max<std::int64_t>(ms, 0))) < 0) return;
    for (size_t i = 0; i < waiting.size(); ++i)
      if (waiting[i].revents != 0) whose[i]->look();
    if (SteadyClock::now() < repeat_at) continue;
    for (Attempt& attempt : attempts) attempt.repeat();
    repeat_at += repeat_datagram;
  }
}

struct Listener {
  Descriptor socket;
  int type = SOCK_STREAM;
};

// Listens on all addresses of both families.
std::optional<Listener> listen_on(int type, int port) {
  for (const int family : {AF_INET6, AF_INET}) {
    Descriptor socket = open_socket(family, type);
    if (!socket.valid()) continue;
    const int off = 0;
    if (family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    const Endpoint here = endpoint_of({.family = family}, port);
    const auto* address =
        reinterpret_cast<const sockaddr*>(&here.address);  // NOLINT(*-reinterpret-cast): POSIX
    if (::bind(socket.get(), address, here.size) != 0) continue;
    if (type == SOCK_STREAM && ::listen(socket.get(), SOMAXCONN) != 0) continue;
    return Listener{std::move(socket), type};
  }
  return std::nullopt;
}

// Connections are closed at once, and datagrams sent back.
void serve(const Listener& listener) {
  const int socket = listener.socket.get();
  if (listener.type == SOCK_STREAM) {
    const Descriptor accepted(::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC));
    return;
  }
  Endpoint from;
  from.size = sizeof from.address;
  std::array<char, 512> received{};
  auto* address = reinterpret_cast<sockaddr*>(&from.address);  // NOLINT(*-reinterpret-cast): POSIX
  const ssize_t size = ::recvfrom(socket, received.data(), received.size(), 0, address, &from.size);
  if (size > 0) ::sendto(socket, received.data(), size_t(size), 0, address, from.size);
}

// Serves until a signal arrives (true) or the time has come (false).
bool serve_until(const std::vector<Listener>& listeners, int signals,
                 std::optional<SteadyClock::time_point> until) {
  while (true) {
    std::vector<pollfd> waiting = {{.fd = signals, .events = POLLIN, .revents = 0}};
    for (const Listener& listener : listeners)
      waiting.push_back({.fd = listener.socket.get(), .events = POLLIN, .revents = 0});
    int ms = -1;
    if (until)
      ms = int(std::max<std::int64_t>(
          0, std::chrono::ceil<std::chrono::milliseconds>(*until - SteadyClock::now()).count()));
    const int ready = ::poll(waiting.data(), waiting.size(), ms);
    if (ready < 0 && errno != EINTR) throw std::runtime_error("poll failed");
    if (waiting[0].revents != 0) return true;
    for (size_t i = 0; i < listeners.size(); ++i)
      if (waiting[i + 1].revents != 0) serve(listeners[i]);
    if (until && SteadyClock::now() >= *until) return false;
  }
}

}  // namespace

std::vector<std::string> probe_arguments(const ProbePod& pod) {
  std::vector<std::string> words = {"probe", std::to_string(pod.port),
                                    std::to_string(pod.other_port)};
  if (pod.nonce.empty()) return words;
  words.push_back(pod.nonce);
  words.insert(words.end(), pod.targets.begin(), pod.targets.end());
  return words;
}

ProbePod read_probe_arguments(const std::vector<std::string>& words) {
  if (words.size() < 2 || words.size() > max_targets + 3)
    throw std::invalid_argument("probe takes PORT OTHER-PORT [NONCE TARGET…]");
  ProbePod pod = {.port = port_of(words[0]), .other_port = port_of(words[1])};
  if (words.size() == 2) return pod;
  pod.nonce = words[2];
  pod.targets.assign(words.begin() + 3, words.end());
  return pod;
}

std::string try_targets(const ProbePod& pod) {
  std::vector<Attempt> attempts;
  attempts.reserve(pod.targets.size());
  for (const std::string& target : pod.targets) attempts.emplace_back(target);
  wait_for_answers(attempts);
  json answers = json::object();
  for (const Attempt& attempt : attempts)
    answers[attempt.target()] = attempt.is_untried() ? "untried" : attempt.answer();
  return json{{"probe", pod.nonce}, {"answers", std::move(answers)}}.dump();
}

int run_probe_pod(const ProbePod& pod, std::ostream& out) {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  const Descriptor signals(::signalfd(-1, &ending, SFD_CLOEXEC));
  std::vector<Listener> listeners;
  for (const auto& [type, port] :
       {std::pair(SOCK_STREAM, pod.port), std::pair(SOCK_DGRAM, pod.port),
        std::pair(SOCK_STREAM, pod.other_port)}) {
    auto listener = listen_on(type, port);
    if (!listener) {
      out << "port " << port << " can't be listened on" << std::endl;
      return EXIT_FAILURE;
    }
    listeners.push_back(std::move(*listener));
  }
  const auto settled = SteadyClock::now() + std::chrono::seconds(probe_settles_seconds);
  if (!pod.nonce.empty() && !serve_until(listeners, signals.get(), settled))
    out << try_targets(pod) << std::endl;
  else if (!pod.nonce.empty())
    return EXIT_SUCCESS;
  serve_until(listeners, signals.get(), std::nullopt);
  return EXIT_SUCCESS;
}

}  // namespace berth::reconcilers
