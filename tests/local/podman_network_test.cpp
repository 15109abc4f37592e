#include <arpa/inet.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>

#include "controller/base/descriptor.h"
#include "reconcilers/embedded/node/podman/confinement.h"
#include "reconcilers/embedded/node/podman/firewall.h"
#include "reconcilers/embedded/node/podman/machine.h"
#include "reconcilers/embedded/node/process.h"
#include "tests/local/node.h"

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using nlohmann::json;
using Stage = embedded::RunState::Stage;

namespace {

const json tcp = {{"tcpSocket", {{"port", 8080}}}};

// Something that listens on all addresses of the machine.
class Listener {
 public:
  explicit Listener(int port = 0) : socket_(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(std::uint16_t(port));
    socklen_t size = sizeof address;
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(socket_.get(), 64) != 0)
      throw std::runtime_error("no port");
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin6_port);
  }
  std::string port() const { return std::to_string(port_); }
  int number() const { return port_; }

 private:
  Descriptor socket_;
  int port_ = 0;
};

std::string gateway_of(const std::string& address) {
  return address.substr(0, address.rfind('.')) + ".1";
}

}  // namespace

TEST_CASE("a container reaches its own app and the internet, and nothing else", "[podman]") {
  NEEDS_PODMAN
  Listener listener;
  Node node;
  const std::string image = node.image("serve", {"serve"});
  Pod one(node, "one", image, "berth-app-one");
  Pod friendly(node, "friendly", image, "berth-app-one");
  Pod other(node, "other", image, "berth-app-two");
  REQUIRE(one.start().stage == Stage::running);
  REQUIRE(friendly.start().stage == Stage::running);
  REQUIRE(other.start().stage == Stage::running);
  for (Pod* pod : {&one, &friendly, &other}) REQUIRE(pod->probe(tcp).succeeded);
  const std::string own = one.state().address;
  const std::string others = other.state().address;

  const auto reach = [&](const std::string& host, const std::string& port) {
    return one.get("/connect/" + host + "/" + port);
  };
  CHECK(reach(friendly.state().address, "8080") == "connected");
  CHECK(reach(others, "8080") == "Connection timed out");
  CHECK(reach(gateway_of(own), listener.port()) == "Connection timed out");
  CHECK(reach(gateway_of(others), listener.port()) == "Connection timed out");
  const auto machine = embedded::podman::machine_addresses();
  REQUIRE_FALSE(machine.empty());
  for (const std::string& address : machine) {
    INFO(address);
    CHECK(reach(address, listener.port()) != "connected");
  }
  for (const char* closed : {"169.254.169.254", "10.0.0.1", "172.16.0.1", "192.168.0.1",
                             "100.64.0.1", "168.63.129.16", "224.0.0.1"}) {
    INFO(closed);
    CHECK(reach(closed, "80") != "connected");
    CHECK(reach(closed, "80") != "Connection refused");
  }
  // The machine's link-local address on the bridge.
  const auto links = embedded::run({.args = {"ip", "-6", "-o", "addr", "show", "scope", "link"},
                                    .env = embedded::plain_environment()});
  const size_t at = links.output.find("fe80:", links.output.find(": b"));
  if (at != std::string::npos)
    CHECK(reach(links.output.substr(at, links.output.find('/', at) - at), listener.port()) !=
          "connected");

  // Names: of the own app only, and only from the own gateway.
  CHECK(one.get("/name/" + gateway_of(own) + "/friendly") == "1");
  CHECK(one.get("/name/" + gateway_of(own) + "/other") != "1");
  CHECK(one.get("/name/" + gateway_of(others) + "/other") == "-1");
}

TEST_CASE("containers reach the ingress at the machine's public addresses", "[podman]") {
  NEEDS_PODMAN
  Listener ingress;
  Listener private_one;
  Node node({ingress.number()});
  Pod pod(node, "visitor", node.image("serve", {"serve"}));
  REQUIRE(pod.start().stage == Stage::running);
  REQUIRE(pod.probe(tcp).succeeded);
  for (const std::string& address : embedded::podman::machine_addresses()) {
    if (address.find(':') != std::string::npos) continue;
    CHECK(pod.get("/connect/" + address + "/" + ingress.port()) == "connected");
    CHECK(pod.get("/connect/" + address + "/" + private_one.port()) == "Connection timed out");
  }
}

TEST_CASE("podman's list of system calls loses what makes namespaces", "[confinement]") {
  const auto made = json::parse(embedded::podman::confined_calls(R"({
    "defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38, "archMap": [], "syscalls": [
      {"action": "SCMP_ACT_ALLOW", "names": ["open", "clone", "clone3", "unshare", "mount", "keyctl"]},
      {"action": "SCMP_ACT_ALLOW", "names": ["setns"], "includes": {"caps": ["CAP_SYS_ADMIN"]}},
      {"action": "SCMP_ACT_ERRNO", "names": ["swapon"], "errnoRet": 1}]})"));
  CHECK(made["defaultErrnoRet"] == 38);
  const json& rules = made["syscalls"];
  REQUIRE(rules.size() == 4);
  CHECK(rules[0]["names"] == json{"open"});
  CHECK(rules[1]["names"] == json{"swapon"});
  CHECK(rules[2]["names"] == json{"clone"});
  CHECK(rules[2]["args"][0]["op"] == "SCMP_CMP_MASKED_EQ");
  CHECK(rules[2]["args"][0]["value"] == 0x7E020000);
  CHECK(rules[3]["errnoRet"] == 1);
  for (const char* unreadable : {"", "[]", "{}", R"({"syscalls": []})", R"({"syscalls": [{}]})"})
    CHECK(embedded::podman::confined_calls(unreadable).empty());
}

TEST_CASE("network policies become rules", "[firewall]") {
  embedded::podman::FirewallPlan plan;
  plan.table = "berth_abcdef";
  plan.networks["one"] = {.name = "babcdef-1", .number = 1};
  plan.networks["two"] = {.name = "babcdef-2", .number = 2};
  plan.networks["three"] = {.name = "babcdef-300", .number = 300};
  const auto tenant = std::make_shared<const json>(json::parse(R"({
    "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "egress": [
      {"to": [{"podSelector": {}}]},
      {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8", "203.0.113.0/24"]}},
              {"ipBlock": {"cidr": "2000::/3"}}],
       "ports": [{"protocol": "TCP", "port": 1, "endPort": 24},
                 {"protocol": "TCP", "port": 26, "endPort": 65535},
                 {"protocol": "UDP", "port": 1, "endPort": 65535}]}]}})"));
  const auto smtp = std::make_shared<const json>(json::parse(R"({
    "spec": {"podSelector": {"matchLabels": {"berth/deployment": "mails"}}, "policyTypes": ["Egress"],
      "egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}],
                  "ports": [{"protocol": "TCP", "port": 25}]}]}})"));
  plan.policies["one"] = {tenant, smtp};
  plan.policies["two"] = {tenant};
  plan.pods = {
      {.name_space = "one", .address = "10.208.1.5", .labels = {{"berth/deployment", "mails"}}},
      {.name_space = "one", .address = "10.208.1.6", .labels = {{"berth/deployment", "other"}}},
      {.name_space = "two", .address = "10.208.2.5", .labels = {{"berth/deployment", "mails"}}}};
  plan.public_addresses = {"198.51.100.7", "2001:db8::7"};
  plan.public_ports = {80, 443};
  const std::string rules = embedded::podman::firewall_rules(plan);
  const auto has = [&](const std::string& text) { return rules.find(text) != std::string::npos; };
  CHECK(has(
      "meta nfproto ipv4 ip daddr != { 10.0.0.0/8, 203.0.113.0/24 } tcp dport 26-65535 accept"));
  CHECK(has("ip6 daddr 2000::/3 udp dport 1-65535 accept"));
  CHECK(has("meta nfproto ipv4 tcp dport 25 accept"));
  CHECK(has("10.208.1.5 : jump to_"));
  CHECK_FALSE(has("10.208.1.6 : jump"));
  CHECK_FALSE(has("10.208.2.5 : jump"));
  CHECK(has("\"babcdef-300\" . 10.209.44.1"));
  // Two namespaces with the same policy share a chain: one for it, one for mail, one for all.
  size_t chains = 0;
  for (size_t at = rules.find("  chain to_"); at != std::string::npos;
       at = rules.find("  chain to_", at + 1))
    ++chains;
  CHECK(chains == 3);
  if (!no_podman().empty()) return;
  const auto checked = embedded::run(
      {.args = {"nft", "-c", "-f", "-"}, .env = embedded::plain_environment(), .input = rules});
  INFO(checked.errors);
  CHECK(checked.good());
}

TEST_CASE("rules for thousands of networks are set within a moment", "[firewall]") {
  NEEDS_PODMAN
  embedded::podman::FirewallPlan plan;
  plan.table = "berth_test" + std::to_string(::getpid());
  for (int i = 0; i < 4096; ++i)
    plan.networks["n" + std::to_string(i)] = {.name = "bffffff-" + std::to_string(i), .number = i};
  embedded::podman::Firewall firewall({}, embedded::plain_environment());
  const auto began = std::chrono::steady_clock::now();
  firewall.set(plan);
  const auto took = std::chrono::steady_clock::now() - began;
  CHECK(firewall.holds(plan.table));
  CHECK(embedded::run({.args = {"nft", "delete", "table", "inet", plan.table},
                       .env = embedded::plain_environment()})
            .good());
  CHECK_FALSE(firewall.holds(plan.table));
  firewall.set(plan);  // nothing differs
  CHECK_FALSE(firewall.holds(plan.table));
  firewall.doubt();
  firewall.set(plan);
  CHECK(firewall.holds(plan.table));
  firewall.remove(plan.table);
  CHECK(took < 5s);
  WARN("4096 networks: " << std::chrono::duration_cast<std::chrono::milliseconds>(took).count()
                         << " ms");
}

TEST_CASE("what a machine lacks is said with the command that helps", "[machine]") {
  using embedded::podman::MachineFacts;
  const auto good = [] {
    MachineFacts facts;
    facts.root = true;
    facts.user = "root";
    facts.podman_version = "podman version 4.3.1\n";
    facts.runtimes = {"runc"};
    facts.has_netavark = facts.has_aardvark = facts.has_iptables = facts.has_nft = true;
    facts.has_conmon = facts.has_newuidmap = facts.has_slirp4netns = true;
    facts.subuid = facts.subgid = "containers:2147483647:2147483648\nsomebody:100000:65536";
    facts.filesystem = "cgroup2fs";
    facts.controllers = "cpuset cpu io memory pids";
    facts.has_systemd = true;
    facts.may_open_tun = true;
    facts.can_overlay = true;
    facts.free_bytes = std::uint64_t{100} << 30;
    facts.calls = R"({"syscalls": [{"action": "SCMP_ACT_ALLOW", "names": ["clone", "open"]}]})";
    return facts;
  };
  const auto machine = embedded::podman::judge(good());
  CHECK(machine.findings.empty());
  CHECK(machine.systemd);
  CHECK(machine.users_of_a_container == 65'536);
  CHECK(machine.containers_with_users == 32'768);

  struct Case {
    std::string what;
    std::function<void(MachineFacts&)> change;
    bool unusable;
    std::string help;
  };
  const std::vector<Case> cases = {
      {"podman isn't installed.", [](auto& f) { f.podman_version.clear(); }, true,
       "apt-get install podman"},
      {"podman 4.0.3 is too old", [](auto& f) { f.podman_version = "podman version 4.0.3"; }, true,
       "apt-get"},
      {"podman 3.4.4 is too old", [](auto& f) { f.podman_version = "podman version 3.4.4"; }, true,
       "apt-get"},
      {"Neither runc nor crun", [](auto& f) { f.runtimes.clear(); }, true, "apt-get install runc"},
      {"conmon", [](auto& f) { f.has_conmon = false; }, true, "apt-get install conmon"},
      {"netavark", [](auto& f) { f.has_netavark = false; }, true, "apt-get install netavark"},
      {"aardvark-dns", [](auto& f) { f.has_aardvark = false; }, false,
       "apt-get install aardvark-dns"},
      {"iptables", [](auto& f) { f.has_iptables = false; }, true, "apt-get install iptables"},
      {"nft,", [](auto& f) { f.has_nft = false; }, true, "apt-get install nftables"},
      {"no range of ids for the user `containers`", [](auto& f) { f.subuid.clear(); }, true,
       "/etc/subuid"},
      {"suffices for 64 containers", [](auto& f) { f.subgid = "containers:100000:65536"; }, false,
       "Enlarge"},
      {"with which crun doesn't work",
       [](auto& f) {
         f.filesystem = "tmpfs";
         f.runtimes = {"crun"};
       },
       true, "runc"},
      {"don't limit: memory", [](auto& f) { f.controllers = "cpu pids"; }, false, "cgroup_enable"},
      {"takes no overlay", [](auto& f) { f.can_overlay = false; }, false, "fuse-overlayfs"},
      {"only 100 MiB left", [](auto& f) { f.free_bytes = 100 << 20; }, true, "Make room"},
      {"only 1024 MiB left", [](auto& f) { f.free_bytes = 1 << 30; }, false, "Make room"},
      {"list of system calls", [](auto& f) { f.calls = "{}"; }, false,
       "golang-github-containers-common"},
      {"SELinux", [](auto& f) { f.selinux = "1"; }, false, "ausearch"},
      {"AppArmor is on, and apparmor_parser", [](auto& f) { f.apparmor = true; }, true,
       "apt-get install apparmor"},
      {"AppArmor doesn't let podman",
       [](auto& f) {
         f.root = false;
         f.user = "somebody";
         f.apparmor_userns = "1";
       },
       true, "apparmor_restrict_unprivileged_userns=0"},
      {"iptables, by which netavark connects containers, doesn't work here: Permission denied.",
       [](auto& f) { f.iptables_trouble = "Permission denied."; }, true, "NET_ADMIN"},
      {"nft, by which berth keeps containers apart, doesn't work here: No such file.",
       [](auto& f) { f.nft_trouble = "No such file."; }, true, "modprobe nf_tables"},
      {"makes no user namespaces", [](auto& f) { f.userns_max = "0"; }, true, "sysctl"},
      {"no range of ids for the user `somebody`",
       [](auto& f) {
         f.root = false;
         f.user = "somebody";
         f.subuid.clear();
       },
       true, "somebody:100000:65536"},
      {"newuidmap",
       [](auto& f) {
         f.root = false;
         f.user = "somebody";
         f.has_newuidmap = false;
       },
       true, "uidmap"},
      {"slirp4netns",
       [](auto& f) {
         f.root = false;
         f.user = "somebody";
         f.has_slirp4netns = false;
       },
       true, "slirp4netns"},
      {"can't open /dev/net/tun",
       [](auto& f) {
         f.root = false;
         f.user = "somebody";
         f.may_open_tun = false;
       },
       true, "chmod 666 /dev/net/tun"},
      {"users without privileges",
       [](auto& f) {
         f.root = false;
         f.user = "somebody";
         f.userns_clone = "0";
       },
       true, "sysctl"},
      {"no limit of a container's memory",
       [](auto& f) {
         f.root = false;
         f.user = "somebody";
         f.filesystem = "tmpfs";
       },
       false, "unified_cgroup_hierarchy"},
      {"reach the private networks",
       [](auto& f) {
         f.root = false;
         f.user = "somebody";
       },
       false, "as root"}};
  for (const Case& one : cases) {
    INFO(one.what);
    MachineFacts facts = good();
    one.change(facts);
    std::vector<embedded::Finding> found;
    bool unusable = false;
    try {
      found = embedded::podman::judge(facts).findings;
    } catch (const embedded::Unusable& refused) {
      unusable = true;
      found = {refused.finding()};
    }
    CHECK(unusable == one.unusable);
    const auto matches = [&](const embedded::Finding& finding) {
      return finding.what.find(one.what) != std::string::npos &&
             finding.help.find(one.help) != std::string::npos && finding.what.ends_with(".");
    };
    CHECK(std::any_of(found.begin(), found.end(), matches));
  }
  WARN(cases.size() << " kinds of machines");
}
