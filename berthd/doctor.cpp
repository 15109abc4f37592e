#include "berthd/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

#include "berthd/cluster_access.h"
#include "controller/base/public_address.h"
#include "controller/base/text.h"
#include "reconcilers/kube/client.h"
#include "reconcilers/kube/user_namespaces.h"

namespace berth::doctor {
namespace {

using nlohmann::json;

// The least number of inotify instances that a node should allow. The processes of one user share
// them, and all containers have the same user.
constexpr int least_inotify_instances = 8192;
// The greatest limit of processes for a container that still protects its node.
constexpr int most_pids = 4096;

// The DaemonSets of network plugins that enforce NetworkPolicy.
constexpr std::array enforcing_plugins = std::to_array<std::string_view>(
    {"calico-node", "canal", "rke2-canal", "cilium", "antrea-agent", "kube-router", "ovnkube-node",
     "weave-net", "kube-network-policies", "azure-npm"});

Finding ok(const std::string& detail) { return {"", Result::ok, detail}; }
Finding found(Result result, const std::string& detail, const std::string& advice) {
  return {"", result, detail, advice};
}

std::string text_at(const json& object, const char* pointer) {
  const json::json_pointer path(pointer);
  return object.contains(path) && object.at(path).is_string() ? object.at(path).get<std::string>()
                                                              : "";
}

std::string name_of(const json& object) { return text_at(object, "/metadata/name"); }

class Examination {
 public:
  Examination(const Config& config, const Ask& ask) : config_(config), ask_(ask) {}

  std::vector<Finding> run() {
    check("API server",
          [&] { return ok("Kubernetes " + text_at(ask_("/version"), "/gitVersion")); });
    if (findings_.back().result != Result::ok) {
      findings_.back().result = Result::failed;
      return std::move(findings_);
    }
    check("network policies", [&] { return enforcement(); });
    check("ingress controller", [&] { return ingress_controller(); });
    check("cluster's addresses", [&] { return addresses(); });
    check("nodes for containers", [&] { return tenant_nodes(); });
    check("processes", [&] { return pids(); });
    check("inotify", [&] { return inotify(); });
    check("user namespaces", [&] { return user_namespaces(); });
    check("runtime classes", [&] { return runtime_classes(); });
    check("quotas", [&] { return quotas(); });
    check("admission policy", [&] { return admission_policy(); });
    check("sessions in containers", [&] { return sessions(); });
    check("ingress class", [&] { return ingress_class(); });
    check("cert-manager", [&] { return cert_manager(); });
    check("metrics-server", [&] { return metrics_server(); });
    return std::move(findings_);
  }

 private:
  void check(const std::string& name, const std::function<Finding()>& look) {
    try {
      findings_.push_back(look());
    } catch (const std::exception& failure) {
      findings_.push_back(found(Result::unknown, failure.what(), ""));
    }
    findings_.back().name = name;
  }

  json items(const std::string& path) { return ask_(path).value("items", json::array()); }

  bool exists(const std::string& path) {
    try {
      ask_(path);
      return true;
    } catch (const kube::ApiError& error) {
      if (error.status != 404) throw;
      return false;
    }
  }

  const json& nodes() {
    if (nodes_.is_null()) nodes_ = items("/api/v1/nodes");
    return nodes_;
  }

  // Whether the node has the labels of tenant-node-selector.
  bool is_for_tenants(const json& node) const {
    const json labels = node.value("/metadata/labels"_json_pointer, json::object());
    return std::ranges::all_of(config_.tenant_node_selector, [&](const auto& label) {
      return labels.value(label.first, "") == label.second;
    });
  }

  Finding enforcement() {
    for (const json& set : items("/apis/apps/v1/daemonsets"))
      if (std::ranges::find(enforcing_plugins, name_of(set)) != enforcing_plugins.end())
        return ok(name_of(set) + " enforces them");
    return found(Result::unknown, "no network plugin that is known to enforce them was found",
                 "Let berthd try it: `berth admin isolation --probe`. Without a plugin that "
                 "enforces network policies, containers reach each other and the API server.");
  }

  Finding ingress_controller() {
    if (config_.ingress_namespace.empty() && config_.ingress_ranges.empty())
      return found(Result::warning, "every namespace that isn't an app's may reach containers",
                   "Set ingress-namespace, or ingress-ranges if it uses the nodes' network.");
    if (config_.ingress_namespace.empty()) return ok("on the nodes' network");
    if (!exists("/api/v1/namespaces/" + config_.ingress_namespace))
      return found(Result::failed, "there is no namespace " + config_.ingress_namespace,
                   "No visitor reaches an app: set ingress-namespace to the ingress controller's.");
    return ok("in the namespace " + config_.ingress_namespace);
  }

  Finding addresses() {
    std::set<std::string> open;
    const auto look = [&](const std::string& address) {
      if (is_public_address(address, config_.cluster_ranges)) open.insert(address);
    };
    for (const json& node : nodes())
      for (const json& address : node.value("/status/addresses"_json_pointer, json::array()))
        look(text_at(address, "/address"));
    const json slices = items("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices");
    for (const json& slice : slices)
      for (const json& endpoint : slice.value("endpoints", json::array()))
        for (const json& address : endpoint.value("addresses", json::array()))
          look(address.get<std::string>());
    if (open.empty()) return ok("containers reach none of the nodes' and the API server's");
    return found(Result::failed, "containers may reach " + joined({open.begin(), open.end()}, ", "),
                 "Add them, or their ranges, to cluster-ranges.");
  }

  Finding tenant_nodes() {
    if (config_.tenant_node_selector.empty())
      return found(Result::warning, "containers run on every node, also beside berthd",
                   "Set tenant-node-selector and tenant-tolerations, and taint those nodes.");
    const auto count =
        std::ranges::count_if(nodes(), [&](const json& node) { return is_for_tenants(node); });
    const std::string text =
        std::to_string(count) + " of " + std::to_string(nodes().size()) + " nodes";
    if (count == 0)
      return found(Result::failed, text + " have the labels of tenant-node-selector",
                   "Label nodes, or no container can be scheduled.");
    if (size_t(count) == nodes().size())
      return found(Result::warning, text + " have the labels of tenant-node-selector",
                   "Keep a node without them for berthd.");
    return ok(text);
  }

  Finding pids() {
    std::vector<std::string> without;
    for (const json& node : nodes()) {
      const json kubelet = ask_("/api/v1/nodes/" + name_of(node) + "/proxy/configz");
      const int limit = kubelet.value("/kubeletconfig/podPidsLimit"_json_pointer, -1);
      if (limit < 1 || limit > most_pids) without.push_back(name_of(node));
    }
    if (without.empty()) return ok("each pod's number of processes is limited");
    return found(Result::failed, "pods have no limit of processes on " + joined(without, ", "),
                 "Set podPidsLimit: 1024 in the kubelets' configuration.");
  }

  // A sysctl, which only the machine itself shows.
  Finding inotify() {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    const bool is_here = std::ranges::any_of(
        nodes(), [&](const json& node) { return name_of(node) == host.data(); });
    int instances = 0;
    if (is_here) std::ifstream("/proc/sys/fs/inotify/max_user_instances") >> instances;
    const std::string advice = "Set fs.inotify.max_user_instances to " +
                               std::to_string(least_inotify_instances) +
                               " or more on each node: all containers share it, unless they have "
                               "user namespaces or gVisor.";
    if (!is_here) return found(Result::unknown, "only the nodes themselves know", advice);
    const std::string text = std::to_string(instances) + " instances for a user on this node";
    return instances >= least_inotify_instances ? ok(text) : found(Result::failed, text, advice);
  }

  Finding user_namespaces() {
    std::vector<json> tenants;
    std::ranges::copy_if(nodes(), std::back_inserter(tenants),
                         [&](const json& node) { return is_for_tenants(node); });
    const auto seen = kube::user_namespaces_of(ask_("/version"), tenants);
    if (seen.possible)
      return ok(
          "all nodes for containers support them; containers have them where their tier "
          "doesn't turn them off and has no runtime_class");
    return found(Result::warning, "containers have none by default: " + seen.why_not,
                 "Kubernetes 1.33, Linux 6.3, and containerd 2 with runc 1.2 or CRI-O support "
                 "them; a mixture of nodes doesn't.");
  }

  Finding runtime_classes() {
    std::vector<std::string> names;
    for (const json& entry : items("/apis/node.k8s.io/v1/runtimeclasses"))
      names.push_back(name_of(entry));
    for (const tiers::Tier& tier : config_.tiers) {
      const auto& wanted = tier.confinement.runtime_class;
      if (wanted && std::ranges::find(names, *wanted) == names.end())
        return found(Result::failed, "the tier " + tier.slug + " wants " + *wanted,
                     "Install it; until then the tier's deployments have the reason "
                     "runtime_class_missing.");
    }
    if (!names.empty()) return ok(joined(names, ", "));
    return found(Result::warning, "there are none, so that all containers share the nodes' kernel",
                 "Install gVisor or Kata, and give free tiers its runtime_class.");
  }

  Finding quotas() {
    std::set<std::string> with;
    for (const json& quota : items("/api/v1/resourcequotas"))
      with.insert(text_at(quota, "/metadata/namespace"));
    std::vector<std::string> without;
    const json spaces =
        items("/api/v1/namespaces?labelSelector=app.kubernetes.io/managed-by%3Dberth");
    for (const json& space : spaces)
      if (!with.contains(name_of(space))) without.push_back(name_of(space));
    if (without.empty()) return ok(std::to_string(spaces.size()) + " apps, each with a quota");
    return found(Result::failed, "no quota in " + joined(without, ", "),
                 "berthd makes them; see its log for why it couldn't.");
  }

  std::string own_account() const {
    return config_.service_account.value_or("").empty() ? "berth/berth" : *config_.service_account;
  }

  // The admission policies that deny, and whose conditions name this ServiceAccount
  // (NAMESPACE/NAME) and no other one that begins like it.
  std::vector<json> policies_for(const std::string& account) {
    const std::string path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
    std::set<std::string> bound;
    for (const json& binding : items(path + "ybindings"))
      if (binding.value("/spec/validationActions"_json_pointer, json::array())
              .dump()
              .contains("Deny"))
        bound.insert(text_at(binding, "/spec/policyName"));
    std::string user = "system:serviceaccount:" + account;
    user[user.find('/')] = ':';
    std::vector<json> policies;
    for (const json& policy : items(path + "ies")) {
      const json conditions = policy.value("/spec/matchConditions"_json_pointer, json::array());
      const bool names = std::ranges::any_of(conditions, [&](const json& condition) {
        const std::string expression = text_at(condition, "/expression");
        return expression.contains("\"" + user + "\"") || expression.contains("'" + user + "'");
      });
      if (names && bound.contains(name_of(policy))) policies.push_back(policy);
    }
    return policies;
  }

  // Whether one of the bindings gives the account a role for which `fits` is true of one of its
  // rules. `path` is that of the bindings' and roles' place, `prefix` what their plurals begin
  // with.
  bool is_given(const std::string& path, const std::string& prefix, const std::string& account,
                const std::function<bool(const json& rule)>& fits) {
    std::set<std::string> roles;
    for (const json& binding : items(path + "/" + prefix + "rolebindings"))
      for (const json& subject : binding.value("subjects", json::array()))
        if (text_at(subject, "/kind") == "ServiceAccount" &&
            text_at(subject, "/namespace") + "/" + text_at(subject, "/name") == account)
          roles.insert(text_at(binding, "/roleRef/name"));
    for (const json& role : items(path + "/" + prefix + "roles")) {
      if (!roles.contains(name_of(role))) continue;
      const json rules = role.value("rules", json::array());
      if (rules.is_array() && std::ranges::any_of(rules, fits)) return true;
    }
    return false;
  }

  static bool has_each(const json& rule, const char* list, std::initializer_list<const char*> all) {
    const json names = rule.value(list, json::array());
    return std::ranges::all_of(
        all, [&](const char* name) { return std::ranges::find(names, json(name)) != names.end(); });
  }

  // The account with which berthd opens sessions in containers, what berthd may do with it, and
  // what it may do itself (docs/guides/cluster.md).
  Finding sessions() {
    if (!config_.exec_service_account) {
      const auto tier = std::ranges::find_if(
          config_.tiers, [](const tiers::Tier& one) { return one.exec_allowed; });
      if (tier == config_.tiers.end()) return ok("are off, since exec-service-account is empty");
      return found(Result::warning,
                   "the tier " + tier->slug + " allows them, and exec-service-account is empty",
                   "Nobody can open any: install the chart with exec.enabled, or take `exec` from "
                   "the tier.");
    }
    const std::string account = *config_.exec_service_account;
    const std::string name_space = account.substr(0, account.find('/'));
    const std::string name = account.substr(account.find('/') + 1);
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
    if (!exists("/api/v1/namespaces/" + name_space + "/serviceaccounts/" + name))
      return found(Result::failed, "there is no ServiceAccount " + account,
                   "Install the chart with exec.enabled, or set exec-service-account to the one "
                   "that is there.");
    std::vector<std::string> missing;
    if (!is_given(rbac + "/namespaces/" + name_space, "", own_account(), [&](const json& rule) {
          return has_each(rule, "resources", {"serviceaccounts/token"}) &&
                 has_each(rule, "verbs", {"create"}) &&
                 has_each(rule, "resourceNames", {name.c_str()});
        }))
      missing.push_back("a Role in " + name_space + " by which " + own_account() +
                        " may create its tokens");
    if (!is_given(rbac, "cluster", account, [](const json& rule) {
          return has_each(rule, "resources", {"pods/exec", "pods/portforward"}) &&
                 has_each(rule, "verbs", {"get", "create"});
        }))
      missing.push_back(
          "a ClusterRole by which it may get and create pods/exec and "
          "pods/portforward");
    const bool limits_tokens =
        std::ranges::any_of(policies_for(own_account()), [](const json& policy) {
          return policy.value("/spec/matchConstraints"_json_pointer, json::object())
              .dump()
              .contains("serviceaccounts/token");
        });
    if (!limits_tokens)
      missing.push_back("an admission policy that limits which tokens " + own_account() +
                        " may create");
    if (policies_for(account).empty())
      missing.push_back("an admission policy that keeps it to apps' containers");
    if (missing.empty()) return ok("use " + account + ", which admission policies confine");
    return found(Result::failed, account + " lacks " + joined(missing, ", and "),
                 "Install the chart with exec.enabled and admissionPolicy.enabled. Without the "
                 "roles no session opens; without the policies whoever steals berthd's token can "
                 "run commands in every container of the cluster.");
  }

  Finding admission_policy() {
    const std::string account = own_account();
    for (const json& policy : policies_for(account))
      return ok(name_of(policy) + " holds for " + account);
    return found(Result::failed, "none holds for " + account,
                 "Install the chart with admissionPolicy.enabled, or its template "
                 "admissionpolicy.yaml: without it, whoever steals berthd's token can take over "
                 "the cluster.");
  }

  Finding ingress_class() {
    if (exists("/apis/networking.k8s.io/v1/ingressclasses/" + config_.ingress_class))
      return ok(config_.ingress_class);
    return found(Result::failed, "there is no IngressClass " + config_.ingress_class,
                 "Install the ingress controller, or set ingress-class.");
  }

  Finding cert_manager() {
    if (!exists("/apis/cert-manager.io/v1"))
      return found(config_.cluster_issuer ? Result::failed : Result::warning, "isn't installed",
                   "Without it there are no custom domains and no certificates.");
    if (!config_.cluster_issuer)
      return found(Result::warning, "cluster-issuer is empty", "Set it to a ClusterIssuer.");
    const std::string path = "/apis/cert-manager.io/v1/clusterissuers/" + *config_.cluster_issuer;
    if (!exists(path))
      return found(Result::failed, "there is no ClusterIssuer " + *config_.cluster_issuer,
                   "Create it, or set cluster-issuer to another one.");
    return ok("the ClusterIssuer " + *config_.cluster_issuer);
  }

  Finding metrics_server() {
    if (exists("/apis/metrics.k8s.io/v1beta1")) return ok("is there");
    return found(Result::warning, "isn't installed",
                 "Without it the CPU and memory of deployments are unknown.");
  }

  const Config& config_;
  const Ask& ask_;
  json nodes_;
  std::vector<Finding> findings_;
};

size_t longest_name(const std::vector<Finding>& findings) {
  size_t longest = 0;
  for (const Finding& finding : findings) longest = std::max(longest, finding.name.size());
  return longest;
}

}  // namespace

std::vector<Finding> examine(const Config& config, const Ask& ask) {
  return Examination(config, ask).run();
}

int run(const Config& config) {
  kube::Client client(cluster_access(config));
  auto findings =
      examine(config, [&](const std::string& path) { return json::parse(client.raw(path)); });
  std::ranges::move(growth(config), std::back_inserter(findings));
  return print(findings);
}

int print(const std::vector<Finding>& findings) {
  const size_t width = longest_name(findings);
  bool failed = false;
  for (const Finding& finding : findings) {
    failed = failed || finding.result == Result::failed;
    std::string result(to_string(finding.result));
    result.resize(std::string_view("warning").size(), ' ');
    std::string name = finding.name;
    name.resize(width, ' ');
    std::cout << result << "  " << name << "  " << finding.detail << "\n";
    if (!finding.advice.empty()) std::cout << "         " << finding.advice << "\n";
  }
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace berth::doctor
