#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "controller/base/descriptor.h"
#include "reconcilers/embedded/apiserver/types.h"
#include "reconcilers/embedded/node/podman/networks.h"
#include "reconcilers/embedded/node/process.h"

namespace berth::embedded::podman {

// What the rules are made of.
struct FirewallPlan {
  std::string table;                        // the name of nftables' table, which is berth's own
  std::map<std::string, Network> networks;  // by namespace
  std::map<std::string, std::vector<ObjectPtr>> policies;  // NetworkPolicies by namespace
  struct Pod {
    std::string name_space;
    std::string address;
    std::map<std::string, std::string> labels;
  };
  std::vector<Pod> pods;
  std::vector<std::string> public_addresses;  // of this machine, of IPv4 and IPv6
  std::vector<int> public_ports;              // where the ingress listens on them
};

// The ranges within the internet's addresses of a family (AF_INET or AF_INET6) that aren't the
// internet's: controller/base/public_address.h has the table.
std::vector<std::string> not_public(int family);

// The rules as a text for `nft -f`, which replaces the table at once.
//
// From containers, packets to private, shared, link-local and multicast addresses, to the machine
// and to other networks are dropped; to the machine they may go only for names (the network's own
// gateway, port 53) and to the ingress's ports at public addresses. Behind that, the
// NetworkPolicies of the namespace say which addresses of the internet are reached; without any,
// all are. Nothing enters a network from outside but from the machine itself.
std::string firewall_rules(const FirewallPlan& plan);

// The addresses of the machine's interfaces, without loopback, link-local ones and those of the
// bridges of berth's networks, also of other installations.
std::vector<std::string> machine_addresses();

// A socket that becomes readable when somebody removes a table of nftables from the machine, as
// reloading its rules does; an invalid one if the kernel doesn't tell.
Descriptor watch_tables();
// Reads what there is to read. Returns whether a table was removed, or may have been.
bool was_table_removed(int watch);

// Whether nftables' table has the chains `forward` and `input`, and both have a rule with `mark`.
// `prefix` has what is put before `nft`, and its environment.
bool has_chains(const Command& prefix, const std::string& table, std::string_view mark);

// Sets the rules. `prefix` is put before `nft`: how a command gets into the network of rootless
// podman. Thread-safe.
class Firewall {
 public:
  Firewall(std::vector<std::string> prefix, std::map<std::string, std::string> env)
      : prefix_(std::move(prefix)), env_(std::move(env)) {}

  // Sets the rules unless these are set already. Throws std::runtime_error in nft's words.
  void set(const FirewallPlan& plan);
  // Forgets what was set, so that the next call of set() sets it again.
  void doubt();
  // Whether the rules are still there; a reload of the machine's own rules may have removed them.
  bool holds(const std::string& table);
  void remove(const std::string& table);

 private:
  const std::vector<std::string> prefix_;
  const std::map<std::string, std::string> env_;
  std::mutex mutex_;
  std::string rules_;
};

}  // namespace berth::embedded::podman
