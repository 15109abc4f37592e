#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/base/address_range.h"
#include "controller/domain/deployments/isolation.h"

// What the isolation probe tries, and what it makes of the answers. Pure.
namespace berth::reconcilers {

// The ports of the probe's containers. Only the first is the app's, as the network policies see it.
inline constexpr int probe_port = 3000;
inline constexpr int probe_other_port = 3999;
// Name servers listen there, and containers may ask them.
inline constexpr int dns_port = 53;

// One of the two tenants that the probe makes: a pod that listens.
struct ProbeTenant {
  std::vector<std::string> addresses;  // the pod's addresses, one for each family
  std::string service;                 // the address of its Service; may be empty
};

// What is around a tenant's pod, as far as berthd can know it. Addresses are texts without
// brackets; in a target of the container's own (below) they may be names that begin with @.
struct ProbeSurroundings {
  std::vector<std::string> nodes;  // addresses of nodes
  struct Listener {
    std::string what;
    std::string address;
    int port = 0;
  };
  std::vector<Listener> api_servers;  // as berthd reaches them
  std::vector<Listener> berthd;       // its own listeners
  std::vector<Listener> system;       // ports in kube-system that aren't DNS
  std::vector<AddressRange> cluster_ranges;
  // Where an ingress controller is on the nodes' network: the policies let containers get there.
  std::vector<AddressRange> ingress_ranges = {};
  std::vector<int> ingress_ports = {};
  std::string internet = {};  // an address; empty: nothing outside is tried
};

// A target is protocol/address/port, where the protocol is tcp or udp. The container itself knows
// these addresses: @gateway (its default route), @dns (its name server) and @api (the API server's
// Service; its port is given as 0).
//
// Returns what a pod of the first tenant, whose other pod is `own`, has to try. There are at most
// half of isolation::max_paths; `from` is the name for people.
std::vector<isolation::Path> probe_paths(const std::string& from, const ProbeTenant& own,
                                         const ProbeTenant& other, const ProbeSurroundings& around);

// How the attempts ended, by target: answer, refused, silence, untried or the system's words.
using ProbeAnswers = std::map<std::string, std::string>;

// Fills in the results of the paths of both tenants, and says whether they prove something. A
// refusal counts as open, since it comes from where the path leads; but if even the other tenant's
// pod, which certainly listens, refuses, then the network plugin refuses instead of dropping, and a
// refusal counts as shut. `answers` are those of each path's `from`.
isolation::Report judge(std::vector<isolation::Path> paths,
                        const std::map<std::string, ProbeAnswers>& answers, Instant at);

}  // namespace berth::reconcilers
