#include "reconcilers/loops/public_address.h"

#include <algorithm>
#include <vector>

#include "controller/base/address_range.h"

namespace berth::reconcilers {
namespace {

std::vector<AddressRange> ranges(std::initializer_list<const char*> texts) {
  std::vector<AddressRange> result;
  for (const char* text : texts) result.push_back(parse_address_range(text).value());
  return result;
}

const std::vector<AddressRange>& closed() {
  static const std::vector<AddressRange> all = ranges({
      "0.0.0.0/8",        // this network
      "10.0.0.0/8",       // private
      "100.64.0.0/10",    // shared, behind carrier-grade NAT
      "127.0.0.0/8",      // loopback
      "169.254.0.0/16",   // link-local
      "172.16.0.0/12",    // private
      "192.0.0.0/24",     // protocol assignments
      "192.0.2.0/24",     // documentation
      "192.88.99.0/24",   // 6to4 relays
      "192.168.0.0/16",   // private
      "198.18.0.0/15",    // benchmarks
      "198.51.100.0/24",  // documentation
      "203.0.113.0/24",   // documentation
      "224.0.0.0/4",      // multicast
      "240.0.0.0/4",      // reserved, broadcast
      "2001::/23",        // protocol assignments, Teredo
      "2001:db8::/32",    // documentation
      "2002::/16",        // 6to4
      "3fff::/20",        // documentation
  });
  return all;
}

// All public IPv6 addresses assigned so far are in 2000::/3.
const std::vector<AddressRange>& open() {
  static const std::vector<AddressRange> all = ranges({"0.0.0.0/0", "2000::/3"});
  return all;
}

bool is_in(const std::vector<AddressRange>& ranges, const sockaddr& address) {
  return std::ranges::any_of(ranges,
                             [&](const AddressRange& range) { return contains(range, address); });
}

}  // namespace

bool is_public_address(const sockaddr& address) {
  return is_in(open(), address) && !is_in(closed(), address);
}

}  // namespace berth::reconcilers
