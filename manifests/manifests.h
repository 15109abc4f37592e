#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/address_range.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/runs/runs.h"

// The Kubernetes objects that a tenant gets. Their shape is in the YAML files beside this one,
// which a cluster's administrator can read. This code fills them in; it works on parsed nodes and
// never on text, so no value can change the shape. Pure: no clock, no I/O, no randomness.
namespace berth::manifests {

using Object = nlohmann::json;

// Where the ingress controller is. The network policies are made of it.
struct IngressController {
  // The namespace of its pods. If this and `ranges` are empty, every namespace that isn't a
  // tenant's may reach the containers' ports, and containers reach no ingress controller.
  std::string name_space = {};
  // The addresses of its nodes, if it uses the nodes' own network.
  std::vector<AddressRange> ranges = {};
  std::vector<int> ports = {};  // the ports of its pods, which containers may reach
};

// A ClusterRole with what berthd may do in an app's namespace, and the ServiceAccount that gets it
// there.
struct TenantRole {
  std::string role;
  std::string account_namespace;
  std::string account;
};

// The settings that are the same for all deployments of one berthd.
struct Settings {
  std::string instance;     // the id of this berthd's database; becomes the label berth/instance
  std::string apps_domain;  // deployments are served as <name>.<apps_domain>
  std::string ingress_class;
  // The TLS secret of the certificate for *.<apps_domain>. If it is `namespace/name`, the ingress
  // controller uses it as its default certificate, and no tenant's namespace contains its key. If
  // it is a plain name, it is a secret in each app's namespace, which somebody else has to copy
  // there.
  std::optional<std::string> wildcard_tls_secret;
  // The name of cert-manager's ClusterIssuer. If it is empty, no Certificate is ever created.
  std::optional<std::string> cluster_issuer = {};
  IngressController ingress_controller = {};
  // Public addresses that belong to the cluster. The network policies don't let containers reach
  // them.
  std::vector<AddressRange> cluster_ranges = {};
  std::map<std::string, std::string> node_selector = {};  // the nodes on which containers run
  Object tolerations = {};  // a list of tolerations (kubernetes.io, "Taints and Tolerations")
  std::optional<std::string> priority_class = {};
  // Whom the tokens of containers are for: berth's own URL. If it is empty, no container gets one.
  std::string token_audience = {};
  // If it is set, each app's namespace gets a RoleBinding.
  std::optional<TenantRole> tenant_role = {};

  // Whether each sub-domain gets its own Certificate.
  bool has_subdomain_certificates() const { return cluster_issuer && !wildcard_tls_secret; }
};

inline constexpr const char* container_name = "app";  // the only one of a pod
inline constexpr const char* managed_by_label = "app.kubernetes.io/managed-by";  // always "berth"
inline constexpr const char* instance_label = "berth/instance";
inline constexpr const char* deployment_label = "berth/deployment";
inline constexpr const char* app_label = "berth/app";
// The process that an object or a pod belongs to. Those that were made before there were processes
// don't have it, and belong to web (process_of()).
inline constexpr const char* process_label = "berth/process";
// Jobs and pods of runs have this label, with the run's id.
inline constexpr const char* run_label = "berth/run";
// Objects that belong to a custom domain have this label, with the value "domain".
inline constexpr const char* component_label = "app.kubernetes.io/component";
inline constexpr const char* domain_component = "domain";
inline constexpr const char* hash_annotation = "berth/hash";
// On a Deployment, the hash of its Secrets, which are written before it. berthd can't read Secrets;
// this hash tells it that they exist and what they contain.
inline constexpr const char* secrets_annotation = "berth/secrets";
inline constexpr const char* rollout_annotation = "berth/rollout";
// On each pod, the hash of the template that it was created from, which tells new pods from old
// ones.
inline constexpr const char* template_annotation = "berth/template";

// The label selector, in the syntax of `kubectl -l`, of everything that this berthd has created.
std::string selector(const Settings& settings);
// The same, for the objects of one deployment.
std::string selector(const Settings& settings, const std::string& deployment_id);

// The label berth/account of an app's namespace: the account of berthd that has made it. The
// chart's admission policy compares it, so it has to be the same as there (berth.owner in
// _helpers.tpl).
std::string owner_of(const TenantRole& tenant);

std::string namespace_of(const std::string& app_id);  // the namespace of an operator app
// The name of a deployment's objects, except for the second Secret, which holds the registry
// credentials and has a name of its own, and for the objects of its processes.
std::string object_name(const std::string& deployment_id);
// The name of the Deployment and the PodDisruptionBudget of a process; web's is object_name().
std::string process_object_name(const std::string& deployment_id, const std::string& process);
// The process that an object or a pod of a deployment belongs to; empty for those of runs.
std::string process_of(const Object& object);
// What a container of the process may use: what the process asks for, or the tier's memory and CPU,
// and never more than those.
deployments::ContainerSize size_of(const deployments::Deployment& deployment,
                                   const deployments::ProcessSpec& process);
// The part `resources` of a container of this size, as far as a running container's can change: its
// limits and requests of memory and CPU.
Object changeable_resources(const deployments::ContainerSize& size);
// The size of a container by its limits, which are in its spec and in its status. Nothing if it has
// none, or if they aren't whole MiB and millicores.
std::optional<deployments::ContainerSize> size_in(const Object& container);
// How many containers the process is to have now.
int replicas_of(const deployments::ProcessSpec& process, const deployments::DesiredState& state);
// How long a container without a port has to run before it counts as well. It has no probe, and
// programs that don't find their database or a variable usually end within a few seconds; longer
// would slow down rollouts, which wait for that time for each quarter of the containers.
inline constexpr int worker_min_ready_seconds = 10;
std::string registry_secret_name(const std::string& deployment_id);
// The TLS secret of the sub-domain's own certificate.
std::string subdomain_secret_name(const std::string& deployment_id);

// The app's namespace and the objects in it that its deployments share, in the order in which they
// are applied: Namespace, RoleBinding (if settings.tenant_role is set), ServiceAccount,
// NetworkPolicy, LimitRange, ResourceQuota. The quota has room for five times `size`: each
// container's pod, the one that replaces it, and those that are still terminating; and for the runs
// that may be under way.
std::vector<Object> of_namespace(const std::string& app_id, const deployments::AppSize& size,
                                 const Settings& settings);

// The deployment's own objects in the order in which they are applied: Secret (variables, if there
// are any), Secret (registry credentials, if there are any), ServiceAccount (if it has an
// identity), Service, NetworkPolicy (if its tier
// has `smtp`), for each process a Deployment and a PodDisruptionBudget (if it may have several
// containers), Ingress (left out while host_is_held), Certificate (if the sub-domain has its own).
// A deployment that isn't served (is_served()) has no Service, Ingress and Certificate. A stopped
// deployment keeps all objects, with 0 replicas.
std::vector<Object> of_deployment(const deployments::DesiredState& state, const Settings& settings);

// Makes a Service of of_deployment() lead to the deployment's pods from before there were
// processes, too, which lack the label of one. Other processes' pods get no requests by it, because
// none of their ports is named http.
void select_unlabelled(Object& service);

// The Secret of the variables of a deployment that has none any more. `deployment` is one of its
// Deployments as of_deployment() makes them. Containers from before the change still name the
// Secret, and couldn't start again without it.
Object emptied_secret(const Object& deployment);

// The name of a run's Job and of the Secret with its variables, and the name of the Secret with its
// registry credentials. A minute of a cron has the same name whoever makes its run, and even in a
// database that was restored.
std::string run_object_name(const runs::Run& run);
std::string run_registry_secret_name(const runs::Run& run);

// How long a Job whose end nobody has recorded stays, and how much longer than the run's timeout it
// may be active, for the case that there is no berthd: what the pod needs to start is a part of it.
inline constexpr std::chrono::seconds job_kept_for = std::chrono::hours(48);
inline constexpr std::chrono::seconds job_starts_within = std::chrono::hours(1);

// What a run is made of, in the order in which it is created: Secret (variables, if there are any),
// Secret (registry credentials, if there are any), Job. The Secrets are the run's own, because a
// release command has the variables of a rollout that hasn't begun. The caller has to make the Job
// their owner, so that they go with it.
std::vector<Object> of_run(const runs::Wanted& wanted, const Settings& settings);

// The name of a custom domain's Ingress and Certificate, and the name of its TLS secret. The names
// differ for each domain of a deployment, so that two domains never share a secret.
std::string domain_object_name(const std::string& deployment_id, const std::string& domain);
std::string domain_secret_name(const std::string& deployment_id, const std::string& domain);

// The custom domain's Ingress and its Certificate. settings.cluster_issuer must be set. The caller
// must have found that the DNS points to the platform, because cert-manager places an order for
// each Certificate at once.
Object domain_ingress(const deployments::Deployment& deployment, const std::string& domain,
                      const Settings& settings);
Object domain_certificate(const deployments::Deployment& deployment, const std::string& domain,
                          const Settings& settings);

// The hash of an object without its hash annotation; this is the value of that annotation.
std::string hash_of(const Object& object);

}  // namespace berth::manifests
