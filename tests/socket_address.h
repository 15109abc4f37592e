#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace berth::test {

// Returns an IPv4 or IPv6 address in the form of the system's calls. Throws std::invalid_argument.
inline sockaddr_storage socket_address(const std::string& text) {
  sockaddr_storage storage{};
  if (text.find(':') == std::string::npos) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    if (inet_pton(AF_INET, text.c_str(), &in.sin_addr) != 1) throw std::invalid_argument(text);
    std::memcpy(&storage, &in, sizeof in);
  } else {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    if (inet_pton(AF_INET6, text.c_str(), &in.sin6_addr) != 1) throw std::invalid_argument(text);
    std::memcpy(&storage, &in, sizeof in);
  }
  return storage;
}

}  // namespace berth::test
