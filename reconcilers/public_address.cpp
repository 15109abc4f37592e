#include "reconcilers/public_address.h"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace berth::reconcilers {
namespace {

struct Range4 {
  std::uint32_t network;
  int bits;
};
constexpr std::uint32_t quad(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}
constexpr std::array closed4 = {
    Range4{quad(0, 0, 0, 0), 8},        // this network
    Range4{quad(10, 0, 0, 0), 8},       // private
    Range4{quad(100, 64, 0, 0), 10},    // shared, behind carriers' NAT
    Range4{quad(127, 0, 0, 0), 8},      // loopback
    Range4{quad(169, 254, 0, 0), 16},   // link-local
    Range4{quad(172, 16, 0, 0), 12},    // private
    Range4{quad(192, 0, 0, 0), 24},     // protocol assignments
    Range4{quad(192, 0, 2, 0), 24},     // documentation
    Range4{quad(192, 88, 99, 0), 24},   // 6to4 relays
    Range4{quad(192, 168, 0, 0), 16},   // private
    Range4{quad(198, 18, 0, 0), 15},    // benchmarks
    Range4{quad(198, 51, 100, 0), 24},  // documentation
    Range4{quad(203, 0, 113, 0), 24},   // documentation
    Range4{quad(224, 0, 0, 0), 4},      // multicast
    Range4{quad(240, 0, 0, 0), 4},      // reserved, broadcast
};

struct Range6 {
  std::array<std::uint8_t, 16> network;
  int bits;
};
// All that is public so far is in 2000::/3; within it these are not.
constexpr Range6 open6 = {{0x20}, 3};
constexpr std::array closed6 = {
    Range6{{0x20, 0x01, 0x00}, 23},        // protocol assignments, Teredo
    Range6{{0x20, 0x01, 0x0d, 0xb8}, 32},  // documentation
    Range6{{0x20, 0x02}, 16},              // 6to4
    Range6{{0x3f, 0xff, 0x00}, 20},        // documentation
};

bool contains(const Range4& range, std::uint32_t address) {
  return (address ^ range.network) >> (32 - range.bits) == 0;
}

bool contains(const Range6& range, const std::uint8_t* address) {
  for (int bit = 0; bit < range.bits; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    const auto byte = size_t(bit / 8);
    if (((range.network[byte] ^ address[byte]) & mask) != 0) return false;
  }
  return true;
}

}  // namespace

bool is_public_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    const std::uint32_t number = ntohl(in.sin_addr.s_addr);
    return std::ranges::none_of(closed4,
                                [&](const Range4& range) { return contains(range, number); });
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    const std::uint8_t* bytes = in.sin6_addr.s6_addr;
    return contains(open6, bytes) && std::ranges::none_of(closed6, [&](const Range6& range) {
             return contains(range, bytes);
           });
  }
  return false;
}

}  // namespace berth::reconcilers
