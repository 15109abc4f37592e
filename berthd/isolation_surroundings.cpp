#include "berthd/isolation_surroundings.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <memory>

#include "controller/base/public_address.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/node/podman/firewall.h"

namespace berth {
namespace {

using Listener = reconcilers::ProbeSurroundings::Listener;

// The address in numbers; empty for other families.
std::string text_of(const sockaddr* address) {
  if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
    return "";
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::array<char, NI_MAXHOST> text{};
  const int failed =
      ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return failed == 0 ? text.data() : "";
}

// A link-local address is useless on other machines. It has the name of an interface in it.
bool is_of_use(const std::string& address) {
  return !address.empty() && !is_loopback(address) && !address.contains('%');
}

std::vector<std::string> own_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, ::freeifaddrs);
  std::vector<std::string> addresses;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    const std::string address = text_of(entry->ifa_addr);
    if (is_of_use(address)) addresses.push_back(address);
  }
  return addresses;
}

std::vector<std::string> addresses_of(const std::string& host) {
  if (parse_ip_address(host)) return {host};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &first) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(first, ::freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* entry = first; entry != nullptr; entry = entry->ai_next)
    addresses.push_back(text_of(entry->ai_addr));
  return addresses;
}

// This machine as its own containers see it.
void add_machine(reconcilers::ProbeSurroundings& around, const std::vector<Address>& listeners,
                 const std::string& server) {
  around.nodes = embedded::podman::machine_addresses();
  std::vector<std::string> hosts = around.nodes;
  hosts.insert(hosts.begin(), "@gateway");
  const auto url = parse_url(server);
  for (const std::string& host : hosts) {
    if (url) around.api_servers.push_back({"API server within berthd", host, url->port});
    for (const Address& listener : listeners)
      around.berthd.push_back({"berthd", host, listener.port});
  }
}

}  // namespace

reconcilers::ProbeSurroundings isolation_surroundings(const Config& config,
                                                      const std::vector<Address>& listeners,
                                                      const std::string& server) {
  reconcilers::ProbeSurroundings around;
  around.cluster_ranges = config.cluster_ranges;
  around.internet = config.isolation_internet;
  if (config.kubernetes == Cluster::local) {
    add_machine(around, listeners, server);
    return around;
  }
  if (const auto url = parse_url(server)) {
    const int port = url->port == 0 ? port_of_scheme(url->scheme) : url->port;
    const bool has_brackets = url->host.starts_with('[');
    const std::string host = has_brackets ? url->host.substr(1, url->host.size() - 2) : url->host;
    for (const std::string& address : addresses_of(host))
      if (is_of_use(address)) around.api_servers.push_back({"API server", address, port});
  }
  for (const Address& listener : listeners) {
    const bool everywhere = listener.host == "0.0.0.0" || listener.host == "::";
    for (const std::string& address : everywhere ? own_addresses() : addresses_of(listener.host))
      if (is_of_use(address) && !is_public_address(address, config.cluster_ranges))
        around.berthd.push_back({"berthd", address, listener.port});
  }
  return around;
}

}  // namespace berth
