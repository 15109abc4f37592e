#include "reconcilers/embedded/ingress/open_connections.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "controller/base/descriptor.h"

namespace berth::embedded {
namespace {

constexpr int established = 1;  // TCP_ESTABLISHED of the kernel's tcp_states.h
// The kernel writes at most 32 KiB at once.
constexpr size_t answer_bytes = 64 << 10;
// A kernel that doesn't answer is given up.
constexpr timeval longest_answer = {.tv_sec = 1, .tv_usec = 0};

struct Question {
  nlmsghdr head;
  inet_diag_req_v2 body;
};

bool send_question(int socket) {
  Question question{};
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.body.sdiag_family = AF_INET;
  question.body.sdiag_protocol = IPPROTO_TCP;
  question.body.idiag_ext = 1 << (INET_DIAG_INFO - 1);
  question.body.idiag_states = 1U << unsigned(established);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  return sendto(socket, &question, sizeof question, 0, reinterpret_cast<const sockaddr*>(&kernel),
                sizeof kernel) == ssize_t(sizeof question);
}

const inet_diag_msg& connection_of(const nlmsghdr& message) {
  static_assert(sizeof(nlmsghdr) % NLMSG_ALIGNTO == 0);
  return *reinterpret_cast<const inet_diag_msg*>(&message + 1);
}

std::string peer_of(const inet_diag_msg& connection) {
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, static_cast<const void*>(connection.id.idiag_dst), text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(ntohs(connection.id.idiag_dport));
}

// For how long nothing was sent; nothing if the kernel doesn't say it.
std::optional<std::chrono::milliseconds> quiet_for(const nlmsghdr& message) {
  const inet_diag_msg& connection = connection_of(message);
  int left = int(message.nlmsg_len) - int(NLMSG_LENGTH(sizeof connection));
  const auto* part = reinterpret_cast<const rtattr*>(&connection + 1);
  constexpr size_t needed =
      offsetof(tcp_info, tcpi_last_data_sent) + sizeof(tcp_info::tcpi_last_data_sent);
  for (; RTA_OK(part, left); part = RTA_NEXT(part, left)) {
    if (part->rta_type != INET_DIAG_INFO || RTA_PAYLOAD(part) < needed) continue;
    std::uint32_t milliseconds = 0;
    std::memcpy(&milliseconds,
                static_cast<const char*>(RTA_DATA(part)) + offsetof(tcp_info, tcpi_last_data_sent),
                sizeof milliseconds);
    return std::chrono::milliseconds(milliseconds);
  }
  return std::nullopt;
}

// Calls `use` for each connection. Returns false if there is no more to come.
template <typename Use>
bool read_answer(int socket, std::vector<char>& buffer, Use&& use) {
  const ssize_t size = recv(socket, buffer.data(), buffer.size(), 0);
  if (size <= 0) return false;
  auto left = std::uint32_t(size);
  for (const auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data());
       NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
    if (message->nlmsg_type != SOCK_DIAG_BY_FAMILY) return false;  // the end, or an error
    if (message->nlmsg_len >= NLMSG_LENGTH(sizeof(inet_diag_msg))) use(*message);
  }
  return true;
}

}  // namespace

std::map<std::string, std::int64_t> open_connections(const std::set<std::string>& addresses,
                                                     std::chrono::milliseconds quiet) {
  std::map<std::string, std::int64_t> found;
  if (addresses.empty()) return found;
  const Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!socket.valid()) return found;
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &longest_answer, sizeof longest_answer);
  if (!send_question(socket.get())) return found;
  std::vector<char> buffer(answer_bytes);
  const auto count = [&](const nlmsghdr& message) {
    const auto time = quiet_for(message);
    if (!time || *time <= quiet) return;
    const std::string peer = peer_of(connection_of(message));
    if (addresses.contains(peer)) ++found[peer];
  };
  while (read_answer(socket.get(), buffer, count)) {
  }
  return found;
}

}  // namespace berth::embedded
