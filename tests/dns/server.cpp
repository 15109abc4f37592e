#include "tests/dns/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace berth::dns::test {
namespace {

constexpr int type_a = 1, type_cname = 5, type_txt = 16, type_aaaa = 28;
constexpr size_t header_size = 12;

std::string number(int value) { return {char(value >> 8 & 255), char(value & 255)}; }

std::string wire_name(const std::string& name) {
  std::string wire;
  for (size_t at = 0; at < name.size();) {
    const size_t end = std::min(name.find('.', at), name.size());
    wire += char(end - at) + name.substr(at, end - at);
    at = end + 1;
  }
  return wire + '\0';
}

Question parse(const std::string& bytes, Transport transport) {
  Question question{.id = bytes.substr(0, 2), .name = {}, .wire = {}, .transport = transport};
  size_t at = header_size;
  while (bytes.at(at) != 0) {
    const auto length = static_cast<unsigned char>(bytes.at(at));
    question.name += (question.name.empty() ? "" : ".") + bytes.substr(at + 1, length);
    at += length + 1;
  }
  question.type = static_cast<unsigned char>(bytes.at(at + 1)) << 8 |
                  static_cast<unsigned char>(bytes.at(at + 2));
  question.wire = bytes.substr(header_size, at + 5 - header_size);
  return question;
}

int open_socket(int kind, int& port) {
  const int fd = socket(AF_INET, kind | SOCK_CLOEXEC, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(std::uint16_t(port));
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0) {
    close(fd);
    return -1;
  }
  socklen_t size = sizeof here;
  getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size);
  port = ntohs(here.sin_port);
  return fd;
}

}  // namespace

Record address(const std::string& name, const std::string& ip) {
  std::array<char, 16> bytes{};
  const bool four = inet_pton(AF_INET, ip.c_str(), bytes.data()) == 1;
  if (!four) inet_pton(AF_INET6, ip.c_str(), bytes.data());
  return {name, four ? type_a : type_aaaa, std::string(bytes.data(), four ? 4 : 16)};
}

Record alias(const std::string& name, const std::string& target) {
  return {name, type_cname, wire_name(target)};
}

Record text(const std::string& name, const std::vector<std::string>& strings) {
  std::string data;
  for (const std::string& part : strings) data += char(part.size()) + part;
  return {name, type_txt, data};
}

std::string reply(const Question& question, const std::vector<Record>& records, int rcode,
                  int flags) {
  std::string bytes = question.id + number(0x8180 | flags | rcode) + number(1) +
                      number(int(records.size())) + number(0) + number(0) + question.wire;
  for (const Record& record : records)
    bytes += wire_name(record.name) + number(record.type) + number(1) + number(0) + number(60) +
             number(int(record.data.size())) + record.data;
  return bytes;
}

Server::Server(Handler handler) : handler_(std::move(handler)) {
  // A port that is free for TCP is usually free for UDP, too.
  for (int i = 0; i < 20 && tcp_ < 0; ++i) {
    if (udp_ >= 0) close(udp_);
    port_ = 0;
    udp_ = open_socket(SOCK_DGRAM, port_);
    tcp_ = open_socket(SOCK_STREAM, port_);
  }
  if (tcp_ < 0 || listen(tcp_, 16) != 0) throw std::runtime_error("no port for a name server");
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

Server::~Server() {
  thread_.request_stop();
  thread_.join();
  close(udp_);
  close(tcp_);
}

void Server::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::array<pollfd, 2> polled{{{udp_, POLLIN, 0}, {tcp_, POLLIN, 0}}};
    if (poll(polled.data(), polled.size(), 20) <= 0) continue;
    if (polled[0].revents != 0) serve_udp();
    if (polled[1].revents != 0) serve_tcp();
  }
}

void Server::serve_udp() {
  std::string buffer(4096, '\0');
  sockaddr_in from{};
  socklen_t size = sizeof from;
  const auto got =
      recvfrom(udp_, buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
  if (got <= 0) return;
  buffer.resize(size_t(got));
  for (const std::string& bytes : answer(buffer, Transport::udp))
    sendto(udp_, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
}

void Server::serve_tcp() {
  const int fd = accept4(tcp_, nullptr, nullptr, SOCK_CLOEXEC);
  const timeval limit{.tv_sec = 2, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string buffer(4096, '\0');
  if (recv(fd, buffer.data(), 2, MSG_WAITALL) == 2) {
    const size_t length =
        size_t(static_cast<unsigned char>(buffer[0])) << 8 | static_cast<unsigned char>(buffer[1]);
    if (recv(fd, buffer.data(), length, MSG_WAITALL) == ssize_t(length)) {
      buffer.resize(length);
      for (const std::string& bytes : answer(buffer, Transport::tcp)) {
        const std::string framed = number(int(bytes.size())) + bytes;
        send(fd, framed.data(), framed.size(), MSG_NOSIGNAL);
      }
    }
  }
  close(fd);
}

std::vector<std::string> Server::answer(const std::string& bytes, Transport transport) {
  ++questions_;
  return handler_(parse(bytes, transport));
}

std::vector<std::string> from_zone(const Question& question, const std::vector<Record>& zone) {
  std::vector<Record> records;
  bool exists = false;
  for (const Record& record : zone) {
    if (record.name != question.name) continue;
    exists = true;
    if (record.type == question.type || record.type == type_cname) records.push_back(record);
  }
  return {reply(question, records, exists ? no_error : no_such_name)};
}

}  // namespace berth::dns::test
