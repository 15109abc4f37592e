#include "controller/base/public_address.h"

#include <algorithm>
#include <vector>

namespace berth {
namespace {

std::vector<AddressRange> ranges(std::initializer_list<const char*> texts) {
  std::vector<AddressRange> result;
  for (const char* text : texts) result.push_back(parse_address_range(text).value());
  return result;
}

const std::vector<AddressRange>& closed_ranges() {
  static const std::vector<AddressRange> all = ranges({
      "0.0.0.0/8",        // this network
      "10.0.0.0/8",       // private
      "100.64.0.0/10",    // shared, behind carrier-grade NAT
      "127.0.0.0/8",      // loopback
      "168.63.129.16",    // Azure's services on its hosts
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
const std::vector<AddressRange>& open_ranges() {
  static const std::vector<AddressRange> all = ranges({"0.0.0.0/0", "2000::/3"});
  return all;
}

// `address` is an IpAddress or a socket's.
bool is_in(const std::vector<AddressRange>& ranges, const auto& address) {
  return std::ranges::any_of(ranges,
                             [&](const AddressRange& range) { return contains(range, address); });
}

bool covers(const AddressRange& outer, const AddressRange& inner) {
  return outer.bits <= inner.bits &&
         contains(outer, IpAddress{.family = inner.family, .bytes = inner.network});
}

}  // namespace

bool is_public_address(const sockaddr& address) {
  return is_in(open_ranges(), address) && !is_in(closed_ranges(), address);
}

bool is_public_address(const IpAddress& address) {
  return is_in(open_ranges(), address) && !is_in(closed_ranges(), address);
}

bool is_public_address(std::string_view text, const std::vector<AddressRange>& closed) {
  const auto address = parse_ip_address(text);
  return address && is_public_address(*address) && !is_in(closed, *address);
}

std::vector<PublicBlock> public_blocks(const std::vector<AddressRange>& closed) {
  std::vector<AddressRange> all_closed = closed_ranges();
  all_closed.insert(all_closed.end(), closed.begin(), closed.end());
  std::vector<PublicBlock> blocks;
  for (const AddressRange& range : open_ranges()) {
    const bool is_closed = std::ranges::any_of(
        all_closed, [&](const AddressRange& other) { return covers(other, range); });
    if (is_closed) continue;
    PublicBlock block = {.range = to_string(range), .except = {}};
    for (const AddressRange& other : all_closed)
      if (covers(range, other)) block.except.push_back(to_string(other));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace berth
