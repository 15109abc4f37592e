// Measures the chat: members of one channel follow it over server-sent events while some of them
// write; see the script `chat`.
//
// usage: bench_chat BERTHD DIRECTORY MEMBERS RATE SECONDS
//
// Accounts, sessions and memberships are written into the database before berthd starts; everything
// that is measured goes over HTTP.
#include "controller/domain/social/chat.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "berthd/data_dir.h"
#include "controller/db/sqlite/database.h"
#include "controller/domain/accounts/accounts.h"
#include "tests/bench/people.h"

namespace berth {
namespace {

using std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr int senders_at_most = 50;
constexpr std::chrono::seconds patience{60};

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             steady_clock::now().time_since_epoch())
      .count();
}

struct Plan {
  fs::path berthd;
  fs::path directory;
  int members = 1'000;
  int rate = 50;  // messages per second, of all senders together
  int seconds = 60;
  int senders() const { return std::min({senders_at_most, rate, members}); }
  int messages() const { return rate * seconds; }
};

struct World {
  std::string channel;
  std::vector<std::string> tokens;  // the members' tokens
};

World prepare(const Plan& plan) {
  const DataDir data(plan.directory);
  const Keys keys = data.keys();
  const Clock clock;
  db::sqlite::Database database(data.database_file(), clock);
  World world;
  database.write([&](db::Tx& tx) {
    for (int i = 0; i < plan.members; ++i) {
      const auto user = bench::new_user(tx, keys, "member" + std::to_string(i));
      const auto session =
          accounts::open_session(tx, user.id, "127.0.0.1", "bench", std::chrono::hours(24));
      world.tokens.push_back(accounts::session_jwt(session, keys));
      if (i == 0) world.channel = chat::open(tx, user.id, chat::ChannelType::lobby, {}).id;
      chat::join(tx, user.id, world.channel);
    }
    chat::set_words(tx, {"darn", "zounds", "heck", "drat"}, "bench");
  });
  return world;
}

class Berthd {
 public:
  explicit Berthd(const Plan& plan) {
    const fs::path address = plan.directory / address_name;
    fs::remove(address);
    pid_ = ::fork();
    if (pid_ == 0) {
      const std::string connections = std::to_string(plan.members * 2 + 200);
      ::execl(plan.berthd.c_str(), "berthd", "--data-dir", plan.directory.c_str(), "--listen",
              "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--log-level", "warning",
              "--max-connections", connections.c_str(), nullptr);
      ::_exit(127);
    }
    for (const auto end = steady_clock::now() + patience; steady_clock::now() < end;) {
      std::ifstream file(address);
      std::string text;
      if (std::getline(file, text) && !text.empty()) {
        port_ = std::stoi(text.substr(text.rfind(':') + 1));
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    throw std::runtime_error("berthd doesn't start");
  }
  ~Berthd() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  Berthd(const Berthd&) = delete;
  Berthd& operator=(const Berthd&) = delete;

  int port() const { return port_; }
  double resident_mib() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
    return 0;
  }
  double cpu_seconds() const {
    std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    // The fields 14 and 15, utime and stime, come after the parenthesis of the name (proc(5)).
    const std::string_view rest = std::string_view(text).substr(text.rfind(')') + 2);
    size_t at = 0;
    for (int field = 3; field < 14; ++field) at = rest.find(' ', at) + 1;
    const long user = std::stol(std::string(rest.substr(at)));
    at = rest.find(' ', at) + 1;
    return double(user + std::stol(std::string(rest.substr(at)))) / double(::sysconf(_SC_CLK_TCK));
  }

 private:
  pid_t pid_ = -1;
  int port_ = 0;
};

int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error(std::string("connect: ") + std::strerror(errno));
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

void send_text(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error("send failed");
    text.remove_prefix(size_t(sent));
  }
}

// The stream of one member: which messages arrived, and whether they were in order.
struct Follower {
  int socket = -1;
  std::string rest;
  std::int64_t last_id = -1;  // a stream of a channel without messages begins at 0
  int received = 0;
  int out_of_order = 0;
  bool open = false;

  // Parses the lines of complete events. The body of a message is "<number> <microseconds>".
  void take(std::string_view text, std::int64_t at, std::vector<std::int32_t>& latencies) {
    rest += text;
    size_t start = 0;
    for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', start)) {
      line(std::string_view(rest).substr(start, end - start), at, latencies);
      start = end + 1;
    }
    rest.erase(0, start);
  }

 private:
  void line(std::string_view text, std::int64_t at, std::vector<std::int32_t>& latencies) {
    if (text.starts_with("retry:")) open = true;
    if (text.starts_with("id: ")) {
      const std::int64_t id = std::stoll(std::string(text.substr(4)));
      if (id <= last_id) ++out_of_order;
      last_id = id;
    }
    constexpr std::string_view field = "\"filtered_body\":\"";
    const size_t body = text.find(field);
    if (!text.starts_with("data: ") || body == std::string_view::npos) return;
    const std::string_view words = text.substr(body + field.size());
    const std::string sent(words.substr(words.find(' ') + 1, 20));
    ++received;
    latencies.push_back(std::int32_t(at - std::stoll(sent)));
  }
};

class Crowd {
 public:
  Crowd(const Plan& plan, const World& world, int port)
      : followers_(size_t(plan.members)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    latencies_.reserve(size_t(plan.members) * size_t(plan.messages()));
    for (size_t i = 0; i < followers_.size(); ++i) {
      followers_[i].socket = connect_to(port);
      send_text(followers_[i].socket, "GET /api/social/chat/channels/" + world.channel +
                                          "/events HTTP/1.1\r\nHost: localhost\r\n"
                                          "Authorization: Bearer " +
                                          world.tokens[i] + "\r\n\r\n");
      epoll_event wanted{.events = EPOLLIN, .data = {.u64 = i}};
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, followers_[i].socket, &wanted);
    }
  }

  // Reads until `done()` returns true or the time is over.
  template <typename Done>
  bool read_until(Done&& done, std::chrono::seconds time) {
    std::vector<epoll_event> ready(256);
    std::string buffer(64 * 1024, '\0');
    for (const auto end = steady_clock::now() + time; steady_clock::now() < end;) {
      if (done()) return true;
      const int count = ::epoll_wait(epoll_, ready.data(), int(ready.size()), 100);
      for (int i = 0; i < count; ++i) {
        Follower& follower = followers_[ready[size_t(i)].data.u64];
        const ssize_t size = ::recv(follower.socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (size == 0) {
          ::epoll_ctl(epoll_, EPOLL_CTL_DEL, follower.socket, nullptr);
          ++closed_;
        } else if (size > 0) {
          follower.take(std::string_view(buffer).substr(0, size_t(size)), now_us(), latencies_);
        }
      }
    }
    return done();
  }

  bool all_open() const { return std::ranges::all_of(followers_, &Follower::open); }
  bool all_have(int messages) const {
    return std::ranges::all_of(followers_,
                               [&](const Follower& one) { return one.received >= messages; });
  }
  const std::vector<Follower>& followers() const { return followers_; }
  std::vector<std::int32_t>& latencies() { return latencies_; }
  int closed() const { return closed_; }

 private:
  std::vector<Follower> followers_;
  std::vector<std::int32_t> latencies_;  // in microseconds, from before the POST until the arrival
  int epoll_;
  int closed_ = 0;
};

// Sends this sender's share of the messages, evenly spread over the time.
void write_messages(const Plan& plan, const World& world, int port, int sender,
                    std::atomic<int>& refused) {
  const int socket = connect_to(port);
  const auto start = steady_clock::now();
  std::string answer(8 * 1024, '\0');
  for (int number = sender; number < plan.messages(); number += plan.senders()) {
    std::this_thread::sleep_until(
        start + std::chrono::microseconds(std::int64_t(number) * 1'000'000 / plan.rate));
    const std::string body =
        "{\"body\":\"" + std::to_string(number) + " " + std::to_string(now_us()) + " darn it\"}";
    send_text(socket, "POST /api/social/chat/channels/" + world.channel +
                          "/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
                          world.tokens[size_t(sender)] +
                          "\r\nContent-Type: application/json\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body);
    const ssize_t size = ::recv(socket, answer.data(), answer.size(), 0);
    if (size <= 0 || !answer.starts_with("HTTP/1.1 201")) ++refused;
  }
  ::close(socket);
}

double at(const std::vector<std::int32_t>& sorted, double part) {
  return sorted.empty() ? 0 : sorted[size_t(double(sorted.size() - 1) * part)] / 1000.0;
}

int report(const Plan& plan, Crowd& crowd, int refused, double before, double after, double cpu) {
  int out_of_order = 0, wrong_number = 0;
  for (const Follower& follower : crowd.followers()) {
    out_of_order += follower.out_of_order;
    wrong_number += follower.received != plan.messages() ? 1 : 0;
  }
  auto& latencies = crowd.latencies();
  std::ranges::sort(latencies);
  std::printf(
      "| members | messages | events | members without each one once | out of order | "
      "refused | p50 ms | p99 ms | worst ms | memory idle MiB | memory after MiB | "
      "CPU of berthd |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
      "| %d | %d | %zu | %d | %d | %d | %.1f | %.1f | %.1f | %.0f | %.0f | %.0f %% |\n",
      plan.members, plan.messages(), latencies.size(), wrong_number, out_of_order, refused,
      at(latencies, 0.5), at(latencies, 0.99), at(latencies, 1), before, after,
      100 * cpu / plan.seconds);
  return wrong_number + out_of_order + refused + crowd.closed() == 0 ? 0 : 1;
}

int run(const Plan& plan) {
  const World world = prepare(plan);
  const Berthd berthd(plan);
  Crowd crowd(plan, world, berthd.port());
  if (!crowd.read_until([&] { return crowd.all_open(); }, patience))
    throw std::runtime_error("not all streams open");
  const double before = berthd.resident_mib();
  const double cpu_before = berthd.cpu_seconds();
  std::atomic<int> refused = 0;
  std::vector<std::thread> senders;
  for (int i = 0; i < plan.senders(); ++i)
    senders.emplace_back([&, i] { write_messages(plan, world, berthd.port(), i, refused); });
  crowd.read_until([&] { return crowd.all_have(plan.messages()); },
                   std::chrono::seconds(plan.seconds) + patience);
  // A message that is sent twice would arrive now.
  crowd.read_until([] { return false; }, std::chrono::seconds(1));
  for (std::thread& sender : senders) sender.join();
  return report(plan, crowd, refused, before, berthd.resident_mib(),
                berthd.cpu_seconds() - cpu_before);
}

// Each stream needs a descriptor here and one in berthd, which inherits the limit.
void allow_many_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: bench_chat BERTHD DIRECTORY MEMBERS RATE SECONDS\n");
    return 2;
  }
  try {
    berth::allow_many_descriptors();
    return berth::run({.berthd = argv[1],
                       .directory = argv[2],
                       .members = std::stoi(argv[3]),
                       .rate = std::stoi(argv[4]),
                       .seconds = std::stoi(argv[5])});
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "bench_chat: %s\n", failure.what());
    return 2;
  }
}
