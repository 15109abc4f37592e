#include "reconcilers/embedded/node/podman/firewall.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <set>
#include <stdexcept>
#include <string_view>

#include "controller/base/address_range.h"
#include "controller/base/crypto.h"
#include "controller/base/public_address.h"
#include "controller/base/text.h"
#include "reconcilers/embedded/node/process.h"

namespace berth::embedded::podman {
namespace {

// Labels match if the pod has all of them (matchLabels).
bool selects(const Json& selector, const std::map<std::string, std::string>& labels) {
  const Json& wanted = at_path(selector, "/matchLabels");
  if (!wanted.is_object()) return true;
  for (const auto& [name, value] : wanted.items()) {
    const auto found = labels.find(name);
    if (found == labels.end() || value != found->second) return false;
  }
  return true;
}

bool selects_all(const Json& selector) {
  return at_path(selector, "/matchLabels").empty() &&
         at_path(selector, "/matchExpressions").empty();
}

bool is_of(const std::string& range, int family) {
  const auto parsed = parse_address_range(range);
  return parsed && parsed->family == family;
}

// The part of a rule that says which ports it is about; nothing for a protocol that nft isn't told
// of. Ports with names are the containers' and not those of the internet.
std::vector<std::string> port_matches(const Json& rule) {
  if (at_path(rule, "/ports").empty()) return {""};
  std::vector<std::string> matches;
  for (const Json& port : rule["ports"]) {
    const std::string protocol = text_at(port, "protocol");
    const std::string name = protocol == "UDP" ? "udp" : "tcp";
    if (!protocol.empty() && protocol != "TCP" && protocol != "UDP") continue;
    const Json& first = at_path(port, "/port");
    if (first.is_null()) {
      matches.push_back("meta l4proto " + name + " ");
    } else if (first.is_number_integer()) {
      const Json& last = at_path(port, "/endPort");
      matches.push_back(name + " dport " + first.dump() +
                        (last.is_number_integer() ? "-" + last.dump() : "") + " ");
    }
  }
  return matches;
}

// The rules of one policy that let packets to the internet.
std::string egress_rules(const Json& policy) {
  std::string rules;
  for (const Json& rule : at_path(policy, "/spec/egress")) {
    const std::vector<std::string> ports = port_matches(rule);
    std::vector<std::string> targets;
    if (at_path(rule, "/to").empty()) targets.emplace_back();
    for (const Json& peer : at_path(rule, "/to")) {
      const std::string range = text_at(at_path(peer, "/ipBlock"), "cidr");
      const bool four = is_of(range, AF_INET);
      if (!four && !is_of(range, AF_INET6)) continue;  // of pods, which are reached anyway
      const std::string family = four ? "ip daddr " : "ip6 daddr ";
      std::vector<std::string> except;
      for (const Json& one : at_path(peer, "/ipBlock/except"))
        if (one.is_string() && is_of(one.get<std::string>(), four ? AF_INET : AF_INET6))
          except.push_back(one.get<std::string>());
      targets.push_back((range.ends_with("/0")
                             ? "meta nfproto " + std::string(four ? "ipv4 " : "ipv6 ")
                             : family + range + " ") +
                        (except.empty() ? "" : family + "!= { " + joined(except, ", ") + " } "));
    }
    for (const std::string& target : targets)
      for (const std::string& port : ports) rules += "    " + target + port + "accept\n";
  }
  return rules;
}

bool limits_egress(const Json& policy) {
  const Json& types = at_path(policy, "/spec/policyTypes");
  if (types.empty()) return at_path(policy, "/spec").contains("egress");
  return std::find(types.begin(), types.end(), "Egress") != types.end();
}

std::string chain_of(const std::string& rules) { return "to_" + hex(sha256(rules)).substr(0, 12); }

std::string elements(const std::vector<std::string>& list) {
  return list.empty() ? "" : "    elements = { " + joined(list, ", ") + " }\n";
}

// `b`, six digits of hexadecimal, a dash and a number; see Networks.
bool is_bridge_of_berth(std::string_view name) {
  constexpr size_t digits = 6;
  return name.size() > digits + 2 && name.front() == 'b' && name[digits + 1] == '-' &&
         name.substr(1, digits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

class Rules {
 public:
  explicit Rules(const FirewallPlan& plan) : plan_(plan) {}

  std::string text() {
    look_at_policies();
    std::vector<std::string> inside;
    std::vector<std::string> same;
    std::vector<std::string> names;
    for (const auto& [name_space, network] : plan_.networks) {
      const std::string bridge = "\"" + network.name + "\"";
      inside.push_back(bridge);
      same.push_back(bridge + " . " + bridge);
      names.push_back(bridge + " . " + network.gateway());
    }
    std::vector<std::string> public4;
    std::vector<std::string> public6;
    for (const std::string& address : plan_.public_addresses)
      (is_of(address, AF_INET) ? public4 : public6).push_back(address);
    std::vector<std::string> ports;
    ports.reserve(plan_.public_ports.size());
    for (const int port : plan_.public_ports) ports.push_back(std::to_string(port));

    const std::string table = "inet " + plan_.table;
    std::string text = "table " + table + " {}\ndelete table " + table + "\ntable " + table +
                       " {\n"
                       "  set inside {\n    type ifname\n" +
                       elements(inside) +
                       "  }\n"
                       "  set same {\n    type ifname . ifname\n" +
                       elements(same) +
                       "  }\n"
                       "  set names {\n    type ifname . ipv4_addr\n" +
                       elements(names) +
                       "  }\n"
                       "  set public4 {\n    type ipv4_addr\n" +
                       elements(public4) +
                       "  }\n"
                       "  set public6 {\n    type ipv6_addr\n" +
                       elements(public6) +
                       "  }\n"
                       "  set ports {\n    type inet_service\n" +
                       elements(ports) +
                       "  }\n"
                       "  set never4 {\n    type ipv4_addr\n    flags interval\n" +
                       elements(not_public(AF_INET)) + "  }\n";
    for (const auto& [name, rules] : chains_) text += "  chain " + name + " {\n" + rules + "  }\n";
    text += "  map networks {\n    type ifname : verdict\n" + elements(by_network_) +
            "  }\n"
            "  map pods {\n    type ipv4_addr : verdict\n" +
            elements(by_pod_) +
            "  }\n"
            "  chain leave {\n"
            "    ct state established,related accept\n"
            "    ip daddr @never4 drop\n"
            // Only addresses of the internet, without 6to4 and Teredo, which contain others.
            "    ip6 daddr != 2000::/3 drop\n"
            "    ip6 daddr { " +
            joined(not_public(AF_INET6), ", ") +
            " } drop\n"
            "    iifname vmap @networks\n"
            "    ip saddr vmap @pods\n"
            "    drop\n"
            "  }\n"
            "  chain enter {\n"
            "    ct state established,related accept\n"
            "    iifname . ip daddr @names meta l4proto { tcp, udp } th dport 53 accept\n"
            "    ip daddr @public4 tcp dport @ports accept\n"
            "    ip6 daddr @public6 tcp dport @ports accept\n"
            "    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept\n"
            "    drop\n"
            "  }\n"
            // Before the chains of iptables, whose priority is 0.
            "  chain forward {\n"
            "    type filter hook forward priority -10; policy accept;\n"
            "    iifname . oifname @same accept\n"
            "    oifname @inside ct state established,related accept\n"
            "    oifname @inside drop\n"
            "    iifname @inside jump leave\n"
            "  }\n"
            "  chain input {\n"
            "    type filter hook input priority -10; policy accept;\n"
            "    iifname @inside jump enter\n"
            "  }\n"
            "}\n";
    return text;
  }

 private:
  void look_at_policies() {
    for (const auto& [name_space, network] : plan_.networks) {
      const auto found = plan_.policies.find(name_space);
      std::string all;
      bool limited = false;
      if (found != plan_.policies.end())
        for (const ObjectPtr& policy : found->second) {
          if (!limits_egress(*policy) || !selects_all(at_path(*policy, "/spec/podSelector")))
            continue;
          limited = true;
          all += egress_rules(*policy);
        }
      if (!limited) all = "    accept\n";
      by_network_.push_back("\"" + network.name + "\" : jump " + add(all));
    }
    for (const FirewallPlan::Pod& pod : plan_.pods) {
      const auto found = plan_.policies.find(pod.name_space);
      if (found == plan_.policies.end() || pod.address.empty()) continue;
      std::string own;
      for (const ObjectPtr& policy : found->second) {
        const Json& selector = at_path(*policy, "/spec/podSelector");
        if (limits_egress(*policy) && !selects_all(selector) && selects(selector, pod.labels))
          own += egress_rules(*policy);
      }
      if (!own.empty() && addresses_.insert(pod.address).second)
        by_pod_.push_back(pod.address + " : jump " + add(own));
    }
  }

  // Policies of the same text share a chain.
  std::string add(const std::string& rules) {
    const std::string name = chain_of(rules);
    chains_[name] = rules;
    return name;
  }

  const FirewallPlan& plan_;
  std::map<std::string, std::string> chains_;
  std::vector<std::string> by_network_;
  std::vector<std::string> by_pod_;
  std::set<std::string> addresses_;
};

}  // namespace

std::vector<std::string> not_public(int family) {
  for (const PublicBlock& block : public_blocks({}))
    if (is_of(block.range, family)) return block.except;
  return {};
}

std::string firewall_rules(const FirewallPlan& plan) { return Rules(plan).text(); }

std::vector<std::string> machine_addresses() {
  ifaddrs* list = nullptr;
  std::vector<std::string> found;
  if (::getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0 ||
        is_bridge_of_berth(one->ifa_name))
      continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = nullptr;
    if (one->ifa_addr->sa_family == AF_INET) {
      // NOLINTNEXTLINE(*-reinterpret-cast): POSIX
      bytes = &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      // NOLINTNEXTLINE(*-reinterpret-cast): POSIX
      const auto* six = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
      if (IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) continue;
      bytes = &six->sin6_addr;
    } else {
      continue;
    }
    ::inet_ntop(one->ifa_addr->sa_family, bytes, text.data(), text.size());
    found.emplace_back(text.data());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Descriptor watch_tables() {
  Descriptor socket(
      ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_NETFILTER));
  const int group = NFNLGRP_NFTABLES;
  if (!socket.valid() ||
      ::setsockopt(socket.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0)
    return {};
  return socket;
}

bool was_table_removed(int watch) {
  constexpr int removed = (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_DELTABLE;
  alignas(nlmsghdr) std::array<char, 65'536> buffer{};
  bool found = false;
  while (true) {
    const ssize_t size = ::recv(watch, buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == ENOBUFS) {
      found = true;  // more happened than the socket takes
      continue;
    }
    if (size <= 0) return found;
    // NOLINTNEXTLINE(*-reinterpret-cast): netlink(7)
    const auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data());
    for (auto left = std::size_t(size); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left))
      found = found || message->nlmsg_type == removed;
  }
}

bool has_chains(const Command& prefix, const std::string& table, std::string_view mark) {
  return std::ranges::all_of(std::to_array<const char*>({"forward", "input"}), [&](auto* chain) {
    Command command = prefix;
    command.args.insert(command.args.end(), {"nft", "list", "chain", "inet", table, chain});
    const CommandResult result = run(command);
    return result.good() && result.output.find(mark) != std::string::npos;
  });
}

void Firewall::set(const FirewallPlan& plan) {
  const std::lock_guard lock(mutex_);
  std::string rules = firewall_rules(plan);
  if (rules == rules_) return;
  Command command{.args = prefix_, .env = env_, .input = rules};
  command.args.insert(command.args.end(), {"nft", "-f", "-"});
  const CommandResult result = run(command);
  if (!result.good())
    throw std::runtime_error("the rules of the network can't be set: " + shown(result.errors));
  rules_ = std::move(rules);
}

void Firewall::doubt() {
  const std::lock_guard lock(mutex_);
  rules_.clear();
}

bool Firewall::holds(const std::string& table) {
  const std::lock_guard lock(mutex_);
  return rules_.empty() || has_chains({.args = prefix_, .env = env_}, table, "@inside");
}

void Firewall::remove(const std::string& table) {
  const std::lock_guard lock(mutex_);
  rules_.clear();
  Command command{.args = prefix_, .env = env_};
  command.args.insert(command.args.end(), {"nft", "delete", "table", "inet", table});
  (void)run(command);
}

}  // namespace berth::embedded::podman
