#include "reconcilers/embedded/node/podman/networks.h"

#include <arpa/inet.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "controller/base/text.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/apiserver/types.h"
#include "reconcilers/embedded/node/podman/container_request.h"
#include "reconcilers/embedded/node/podman/words.h"

namespace berth::embedded::podman {
namespace {

constexpr int first_block = 208;  // of 10.208.0.0/12
constexpr int blocks_of_second_byte = 256;

std::string block(int number) {
  return "10." + std::to_string(first_block + number / blocks_of_second_byte) + "." +
         std::to_string(number % blocks_of_second_byte) + ".";
}

// The IPv4 routes of the machine (proc(5), /proc/net/route), as network and mask in the byte order
// of the network.
std::vector<std::pair<std::uint32_t, std::uint32_t>> routes() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  std::ifstream file("/proc/net/route");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string interface;
    std::string skipped;
    std::uint32_t network = 0;
    std::uint32_t mask = 0;
    fields >> interface >> std::hex >> network >> skipped >> skipped >> skipped >> skipped >>
        skipped >> mask;
    if (fields && mask != 0) found.emplace_back(ntohl(network), ntohl(mask));
  }
  return found;
}

bool is_free(int number, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& used) {
  constexpr std::uint32_t block_mask = 0xffffff00;
  const std::uint32_t base =
      (std::uint32_t{10} << 24) + (std::uint32_t(first_block) << 16) + (std::uint32_t(number) << 8);
  for (const auto& [network, mask] : used)
    if ((base & mask) == network || (network & block_mask) == base) return false;
  return true;
}

}  // namespace

std::string Network::subnet() const { return block(number) + "0/24"; }
std::string Network::gateway() const { return block(number) + "1"; }
std::string Network::address(int host) const { return block(number) + std::to_string(host); }

std::string hardware_address(const std::string& address) {
  in_addr parsed{};
  ::inet_pton(AF_INET, address.c_str(), &parsed);
  const std::uint32_t bits = ntohl(parsed.s_addr);
  std::array<char, 18> text{};
  // The second bit says that the address is administered locally (IEEE 802).
  std::snprintf(text.data(), text.size(), "02:be:%02x:%02x:%02x:%02x", bits >> 24,
                (bits >> 16) & 0xff, (bits >> 8) & 0xff, bits & 0xff);
  return text.data();
}

Networks::Networks(std::string instance, Call call)
    : instance_(std::move(instance)), call_(std::move(call)) {}

// The name of a network interface has at most 15 bytes.
std::string Networks::name_of(int number) const {
  return "b" + instance_ + "-" + std::to_string(number);
}

void Networks::load() {
  const Json filters = {{"label", {std::string(instance_label) + "=" + instance_}}};
  UnixCall call;
  call.target = "/v4.0.0/libpod/networks/json?filters=" + percent_encode(filters.dump());
  const UnixAnswer answer = call_(call);
  if (!answer.good()) throw std::runtime_error(words_of(answer.body));
  const Json list = Json::parse(answer.body, nullptr, false);
  const std::lock_guard lock(mutex_);
  for (const Json& one : list) {
    const Json& labels = at_path(one, "/labels");
    const std::string name = text_at(one, "name");
    const size_t dash = name.rfind('-');
    const auto number = parse_number<int>(name.substr(dash == std::string::npos ? 0 : dash + 1));
    if (!number || *number < 0 || *number >= most_networks) continue;
    networks_[text_at(labels, namespace_label)] = {.name = name, .number = *number};
  }
}

std::map<std::string, Network> Networks::all() const {
  const std::lock_guard lock(mutex_);
  return networks_;
}

// Begins at a place that depends on the installation, so that two on one machine don't choose the
// same block at the same moment.
int Networks::free_number() const {
  const std::lock_guard lock(mutex_);
  std::set<int> taken;
  for (const auto& [name_space, network] : networks_) taken.insert(network.number);
  const auto used = routes();
  const int first = int(std::stoul(instance_, nullptr, 16) % std::uint64_t{most_networks});
  for (int i = 0; i < most_networks; ++i) {
    const int number = (first + i) % most_networks;
    if (!taken.contains(number) && is_free(number, used)) return number;
  }
  throw std::runtime_error("all " + std::to_string(most_networks) +
                           " networks of this machine are in use");
}

Network Networks::ensure(const std::string& name_space, bool& made) {
  const std::lock_guard one_at_a_time(making_);
  made = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = networks_.find(name_space);
    if (found != networks_.end()) return found->second;
  }
  Network network;
  network.number = free_number();
  network.name = name_of(network.number);
  const Json body = {
      {"name", network.name},
      {"driver", "bridge"},
      {"network_interface", network.name},
      {"subnets", Json::array({{{"subnet", network.subnet()}, {"gateway", network.gateway()}}})},
      {"dns_enabled", true},
      {"options", {{"isolate", "true"}}},
      {"labels", {{instance_label, instance_}, {namespace_label, name_space}}}};
  UnixCall call;
  call.method = "POST";
  call.target = "/v4.0.0/libpod/networks/create";
  call.body = body.dump();
  const UnixAnswer answer = call_(call);
  // 409: a call whose answer was lost has made it.
  if (!answer.good() && answer.status != 409)
    throw std::runtime_error("failed to set up the network of the namespace: " +
                             words_of(answer.body));
  made = true;
  const std::lock_guard lock(mutex_);
  networks_[name_space] = network;
  return network;
}

void Networks::remove(const std::string& name_space) {
  const std::lock_guard one_at_a_time(making_);
  Network network;
  {
    const std::lock_guard lock(mutex_);
    const auto found = networks_.find(name_space);
    if (found == networks_.end()) return;
    network = found->second;
  }
  UnixCall call;
  call.method = "DELETE";
  call.target = "/v4.0.0/libpod/networks/" + network.name + "?force=true";
  const UnixAnswer answer = call_(call);
  if (!answer.good() && answer.status != 404) throw std::runtime_error(words_of(answer.body));
  const std::lock_guard lock(mutex_);
  networks_.erase(name_space);
  in_use_.erase(name_space);
  last_host_.erase(name_space);
}

std::string Networks::address_of(const std::string& uid, const std::string& name_space) {
  const std::lock_guard lock(mutex_);
  const Network& network = networks_.at(name_space);
  if (const auto found = leases_.find(uid); found != leases_.end())
    return network.address(found->second.host);
  std::set<int>& used = in_use_[name_space];
  int& last = last_host_[name_space];
  constexpr int hosts = last_host - first_host + 1;
  for (int i = 0; i < hosts; ++i) {
    // The address that was free for the longest time comes next.
    last = last < first_host || last >= last_host ? first_host : last + 1;
    if (used.contains(last)) continue;
    used.insert(last);
    leases_[uid] = {.name_space = name_space, .host = last};
    return network.address(last);
  }
  throw std::runtime_error("all " + std::to_string(hosts) +
                           " addresses of the namespace's network are in use");
}

void Networks::keep_address(const std::string& uid, const std::string& name_space,
                            const std::string& address) {
  const auto host = parse_number<int>(address.substr(address.rfind('.') + 1));
  if (!host) return;
  const std::lock_guard lock(mutex_);
  leases_[uid] = {.name_space = name_space, .host = *host};
  in_use_[name_space].insert(*host);
}

void Networks::release(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  const auto found = leases_.find(uid);
  if (found == leases_.end()) return;
  if (const auto used = in_use_.find(found->second.name_space); used != in_use_.end())
    used->second.erase(found->second.host);
  leases_.erase(found);
}

}  // namespace berth::embedded::podman
