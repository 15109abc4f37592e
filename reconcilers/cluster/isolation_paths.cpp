#include "reconcilers/cluster/isolation_paths.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace berth::reconcilers {
namespace {

using isolation::Result;
using isolation::Wanted;

// Limits of what is tried, so that a large cluster makes no large report.
constexpr size_t max_nodes = 4;
constexpr size_t max_listeners = 6;  // how many listeners of each kind are tried
constexpr size_t max_ranges = 4;

constexpr const char* own_pod = "own app's other pod";
constexpr const char* other_pod = "another tenant's pod";

constexpr int api_port = 6443;
constexpr int kubelet_port = 10250;
constexpr int ssh_port = 22;
constexpr int https_port = 443;
constexpr int smtp_port = 25;
constexpr int port_of_service = 80;

// The addresses at which clouds serve a machine's metadata and credentials.
constexpr std::array metadata = {
    std::pair("cloud metadata", "169.254.169.254"),
    std::pair("cloud metadata (Azure)", "168.63.129.16"),
    std::pair("cloud metadata (Oracle)", "192.0.0.192"),
};
// Where routers and other machines of private networks often are.
constexpr std::array private_addresses = {"10.0.0.1", "172.16.0.1", "192.168.0.1", "192.168.1.1",
                                          "100.64.0.1"};

std::string target_of(const std::string& protocol, const std::string& address, int port) {
  return protocol + "/" + address + "/" + std::to_string(port);
}

class Paths {
 public:
  Paths(std::string from, const ProbeSurroundings& around)
      : from_(std::move(from)), around_(around) {}

  void add(const std::string& to, const std::string& address, int port, Wanted wanted,
           const std::string& protocol = "tcp") {
    if (is_of_ingress(address, port)) return;
    std::string target = target_of(protocol, address, port);
    if (paths_.size() >= isolation::max_paths / 2 || !targets_.insert(target).second) return;
    paths_.push_back({.from = from_, .to = to, .target = std::move(target), .wanted = wanted});
  }
  void add_listeners(const std::vector<ProbeSurroundings::Listener>& listeners) {
    for (size_t i = 0; i < std::min(listeners.size(), max_listeners); ++i)
      add(listeners[i].what, listeners[i].address, listeners[i].port, Wanted::shut);
  }
  std::vector<isolation::Path> take() { return std::move(paths_); }

 private:
  bool is_of_ingress(const std::string& address, int port) const {
    const auto ip = parse_ip_address(address);
    return ip && std::ranges::find(around_.ingress_ports, port) != around_.ingress_ports.end() &&
           std::ranges::any_of(around_.ingress_ranges,
                               [&](const AddressRange& range) { return contains(range, *ip); });
  }

  const std::string from_;
  const ProbeSurroundings& around_;
  std::vector<isolation::Path> paths_;
  std::set<std::string> targets_;  // none is tried twice
};

// Returns the address after the range's own address.
std::string first_of(const AddressRange& range) {
  IpAddress address = {.family = range.family, .bytes = range.network};
  const size_t last = range.family == AF_INET ? 3 : 15;
  if (range.bits < int(8 * (last + 1))) ++address.bytes.at(last);
  return to_string(address);
}

bool was_refused(const std::string& answer) { return answer == "refused"; }

Result result_of(const std::string& answer, bool refusals_are_open) {
  if (answer == "untried") return Result::untried;
  const bool open = answer == "answer" || (was_refused(answer) && refusals_are_open);
  return open ? Result::open : Result::shut;
}

}  // namespace

std::vector<isolation::Path> probe_paths(const std::string& from, const ProbeTenant& own,
                                         const ProbeTenant& other,
                                         const ProbeSurroundings& around) {
  Paths paths(from, around);
  if (!own.addresses.empty()) paths.add(own_pod, own.addresses.front(), probe_port, Wanted::open);
  for (const char* protocol : {"udp", "tcp"})
    paths.add("cluster's DNS", "@dns", dns_port, Wanted::open, protocol);
  for (const std::string& address : other.addresses) {
    paths.add(other_pod, address, probe_port, Wanted::shut);
    paths.add("another tenant's pod, another port", address, probe_other_port, Wanted::shut);
    paths.add("another tenant's pod, UDP", address, probe_port, Wanted::shut, "udp");
  }
  if (!other.service.empty())
    paths.add("another tenant's Service", other.service, port_of_service, Wanted::shut);
  paths.add("API server, Service", "@api", 0, Wanted::shut);
  paths.add_listeners(around.api_servers);
  for (size_t i = 0; i < std::min(around.nodes.size(), max_nodes); ++i) {
    paths.add("kubelet of a node", around.nodes[i], kubelet_port, Wanted::shut);
    paths.add("API server on a node", around.nodes[i], api_port, Wanted::shut);
    paths.add("SSH of a node", around.nodes[i], ssh_port, Wanted::shut);
  }
  paths.add("kubelet, by the gateway", "@gateway", kubelet_port, Wanted::shut);
  paths.add("API server, by the gateway", "@gateway", api_port, Wanted::shut);
  paths.add("SSH, by the gateway", "@gateway", ssh_port, Wanted::shut);
  for (const auto& [name, address] : metadata)
    paths.add(name, address, port_of_service, Wanted::shut);
  paths.add_listeners(around.berthd);
  paths.add_listeners(around.system);
  for (const char* address : private_addresses)
    paths.add("private networks", address, https_port, Wanted::shut);
  for (size_t i = 0; i < std::min(around.cluster_ranges.size(), max_ranges); ++i)
    paths.add("cluster-ranges", first_of(around.cluster_ranges[i]), https_port, Wanted::shut);
  if (!around.internet.empty()) {
    paths.add("internet, HTTPS", around.internet, https_port, Wanted::either);
    paths.add("internet, SMTP", around.internet, smtp_port, Wanted::shut);
  }
  return paths.take();
}

isolation::Report judge(std::vector<isolation::Path> paths,
                        const std::map<std::string, ProbeAnswers>& answers, Instant at) {
  for (isolation::Path& path : paths) {
    path.detail = "untried";
    const auto of_pod = answers.find(path.from);
    if (of_pod == answers.end()) continue;
    const auto answer = of_pod->second.find(path.target);
    if (answer != of_pod->second.end()) path.detail = answer->second;
  }
  const bool plugin_refuses = std::ranges::any_of(paths, [](const isolation::Path& path) {
    return path.to == other_pod && was_refused(path.detail);
  });
  std::set<std::string> reached;  // the pods that reached their own app's other pod
  bool all_tried = true;
  std::set<std::string> pods;
  for (isolation::Path& path : paths) {
    pods.insert(path.from);
    path.result = result_of(path.detail, !plugin_refuses);
    if (path.to == own_pod && path.detail == "answer") reached.insert(path.from);
    // What the container looks up itself may not exist: a pod needn't have a gateway.
    if (path.result == Result::untried && !path.target.contains('@')) all_tried = false;
  }
  isolation::Report report = {.at = at, .paths = std::move(paths), .doubt = {}};
  if (pods.empty() || reached != pods)
    report.doubt =
        "a pod of the probe didn't reach its own app's other pod, so that a path that looks shut "
        "may just be broken";
  else if (!all_tried)
    report.doubt = "a pod of the probe couldn't try every path";
  return report;
}

}  // namespace berth::reconcilers
