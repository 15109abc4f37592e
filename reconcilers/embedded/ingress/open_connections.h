#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace berth::embedded {

// Counts this machine's TCP connections to these addresses, such as `10.89.0.2:3000`, on which
// nothing was sent for longer than `quiet`. Of a proxy that closes idle connections sooner than
// that, these are the requests that have gone on for longer, too: the connections of WebSockets, of
// streams and of slow answers. IPv4 alone. One question to the kernel (sock_diag(7)), which goes
// through all connections of the machine: some milliseconds for ten thousand. Returns no address
// without such a connection, and nothing at all if the kernel doesn't answer. Thread-safe.
std::map<std::string, std::int64_t> open_connections(const std::set<std::string>& addresses,
                                                     std::chrono::milliseconds quiet);

}  // namespace berth::embedded
