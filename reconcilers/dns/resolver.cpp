#include "reconcilers/dns/resolver.h"

#include <ares.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/text.h"
#include "reconcilers/dns/message.h"

namespace berth::dns {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int longest_pause = 100;  // in ms; a stop is noticed within this time

// c-ares has to be initialised once, before any thread uses it.
void prepare_library() {
  static const int prepared = ares_library_init(ARES_LIB_INIT_ALL);
  if (prepared != ARES_SUCCESS) throw std::runtime_error("c-ares can't be initialised");
}

struct CloseChannel {
  void operator()(ares_channel channel) const { ares_destroy(channel); }
};
using Channel = std::unique_ptr<std::remove_pointer_t<ares_channel>, CloseChannel>;

// Opens a channel for one look-up. A channel isn't shared: threads stay independent, and a changed
// resolv.conf takes effect. Returns null if the system's configuration can't be read.
Channel open_channel(const Options& options, const std::string& servers) {
  ares_options wanted{};
  // No search list and no host aliases, because a custom domain is a complete name.
  wanted.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
  wanted.timeout = int(options.patience.count());
  wanted.tries = options.tries;
  ares_channel channel = nullptr;
  const int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES;
  if (ares_init_options(&channel, &wanted, mask) != ARES_SUCCESS) return nullptr;
  Channel owned(channel);
  if (!servers.empty() && ares_set_servers_ports_csv(channel, servers.c_str()) != ARES_SUCCESS)
    return nullptr;
  return owned;
}

struct Reply {
  bool done = false;
  int status = ARES_ETIMEOUT;
  std::string bytes;
};

void keep_reply(void* argument, int status, int, unsigned char* bytes, int length) {
  auto& reply = *static_cast<Reply*>(argument);
  reply.done = true;
  reply.status = status;
  if (bytes != nullptr) reply.bytes.assign(reinterpret_cast<const char*>(bytes), size_t(length));
}

int milliseconds_until(SteadyClock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock::now()).count();
  return int(std::max<std::int64_t>(0, left));
}

// Waits once for the channel's sockets, and lets c-ares process what has arrived.
void step(ares_channel channel, SteadyClock::time_point end) {
  std::array<ares_socket_t, ARES_GETSOCK_MAXNUM> sockets{};
  const unsigned ready = unsigned(ares_getsock(channel, sockets.data(), int(sockets.size())));
  std::array<pollfd, ARES_GETSOCK_MAXNUM> polled{};
  nfds_t count = 0;
  for (unsigned i = 0; i < sockets.size(); ++i) {
    const unsigned wanted = ready >> i & (1U | 1U << ARES_GETSOCK_MAXNUM);
    if (wanted == 0) continue;
    polled[count++] = {.fd = sockets[i],
                       .events = short((wanted & 1U ? POLLIN : 0) | (wanted > 1U ? POLLOUT : 0)),
                       .revents = 0};
  }
  timeval longest{.tv_sec = milliseconds_until(end) / 1000,
                  .tv_usec = milliseconds_until(end) % 1000 * 1000};
  timeval own{};
  const timeval* wait = ares_timeout(channel, &longest, &own);
  const int pause =
      std::clamp(int(wait->tv_sec * 1000 + wait->tv_usec / 1000) + 1, 1, longest_pause);
  if (poll(polled.data(), count, pause) <= 0) {
    ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    return;
  }
  for (nfds_t i = 0; i < count; ++i) {
    const bool readable = (polled[i].revents & (POLLIN | POLLERR | POLLHUP)) != 0;
    const bool writable = (polled[i].revents & POLLOUT) != 0;
    if (readable || writable)
      ares_process_fd(channel, readable ? polled[i].fd : ARES_SOCKET_BAD,
                      writable ? polled[i].fd : ARES_SOCKET_BAD);
  }
}

struct FreeBytes {
  void operator()(unsigned char* bytes) const { ares_free_string(bytes); }
};

// Asks one question. Returns nothing if no usable answer came.
std::optional<Message> ask(ares_channel channel, const std::string& name, Type type,
                           SteadyClock::time_point end, const std::atomic<bool>& stopped) {
  constexpr int internet = 1;
  constexpr int recursion_desired = 1;
  const std::string random = random_bytes(2);
  const auto id = static_cast<unsigned short>(static_cast<unsigned char>(random[0]) << 8 |
                                              static_cast<unsigned char>(random[1]));
  unsigned char* raw = nullptr;
  int length = 0;
  if (ares_create_query(name.c_str(), internet, number_of(type), id, recursion_desired, &raw,
                        &length, 0) != ARES_SUCCESS)
    return std::nullopt;
  const std::unique_ptr<unsigned char, FreeBytes> question(raw);
  Reply reply;
  ares_send(channel, question.get(), length, keep_reply, &reply);
  while (!reply.done && !stopped && SteadyClock::now() < end) step(channel, end);
  if (!reply.done) ares_cancel(channel);  // calls keep_reply
  if (reply.status != ARES_SUCCESS) return std::nullopt;
  auto message = parse_message(reply.bytes, type);
  const bool says_something =
      message && (message->rcode == rcode_no_error || message->rcode == rcode_no_such_name);
  return says_something ? message : std::nullopt;
}

// The state of following a chain of CNAME records.
struct Walk {
  std::string name;  // the name that the chain has led to so far
  Answer answer;

  bool has_been_at(const std::string& where, const std::string& start) const {
    return where == start || std::ranges::find(answer.chain, where) != answer.chain.end();
  }
};

enum class Followed { not_at_all, further, astray };

// Follows the message's CNAME records from the current name as far as they lead.
Followed follow(Walk& walk, const Message& message, const std::string& start) {
  Followed result = Followed::not_at_all;
  for (auto next = message.aliases.find(walk.name); next != message.aliases.end();
       next = message.aliases.find(walk.name)) {
    if (walk.has_been_at(next->second, start)) {
      walk.answer.problem = "its CNAME records form a loop";
      return Followed::astray;
    }
    if (walk.answer.chain.size() == max_chain) {
      walk.answer.problem = "its chain of CNAME records is too long";
      return Followed::astray;
    }
    walk.name = next->second;
    walk.answer.chain.push_back(walk.name);
    result = Followed::further;
  }
  return result;
}

}  // namespace

Resolver::Resolver(Options options)
    : options_(std::move(options)), servers_(joined(options_.servers, ",")) {
  prepare_library();
  if (!open_channel(options_, servers_))
    throw std::invalid_argument("DNS servers must be addresses with or without a port: " +
                                servers_);
}

Answer Resolver::look_up(const std::string& name, Type type) const {
  const auto end = SteadyClock::now() + options_.deadline;
  const std::string start = normal(name);
  Walk walk{.name = start, .answer = {}};
  Answer& answer = walk.answer;
  answer.problem = "the name servers don't answer";
  const Channel channel = open_channel(options_, servers_);
  if (!channel) return answer;
  while (true) {
    const auto message = ask(channel.get(), walk.name, type, end, stopped_);
    if (!message) return answer;
    const Followed followed = follow(walk, *message, start);
    if (followed == Followed::astray) {
      answer.kind = Answer::Kind::no_data;
      return answer;
    }
    if (const auto found = message->values.find(walk.name); found != message->values.end()) {
      answer.kind = Answer::Kind::found;
      answer.values = found->second;
      answer.problem.clear();
      return answer;
    }
    if (message->rcode == rcode_no_such_name) {
      answer.kind = Answer::Kind::no_such_name;
      answer.problem = "there is no such name: " + walk.name;
      return answer;
    }
    if (followed == Followed::not_at_all) {
      answer.kind = Answer::Kind::no_data;
      answer.problem = walk.name + " has no such record";
      return answer;
    }
    // The server doesn't follow chains itself, so the next question is about the name that the
    // chain led to.
  }
}

}  // namespace berth::dns
