#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/deployments.h"

// The objects that a tenant gets. Their shape stands in the YAML files beside this one, which a
// cluster admin can read; here they are filled in, on parsed nodes and never in text, so that no
// value can change the shape. Pure: no clock, no I/O, no randomness.
namespace berth::manifests {

using Object = nlohmann::json;

// What is the same for all deployments of one berthd.
struct Settings {
  std::string instance;     // of this berthd's database; becomes the label berth/instance
  std::string apps_domain;  // <name>.<apps_domain>
  std::string ingress_class;
  // Of *.<apps_domain>. `namespace/name`: the ingress controller has it as its default certificate,
  // and no tenant's namespace holds its key. A plain name: a secret in each app's namespace, which
  // somebody else copies there.
  std::optional<std::string> wildcard_tls_secret;
  // cert-manager's ClusterIssuer. Without it no Certificate is ever made.
  std::optional<std::string> cluster_issuer = {};

  // Whether each sub-domain gets a Certificate of its own.
  bool has_subdomain_certificates() const { return cluster_issuer && !wildcard_tls_secret; }
};

inline constexpr const char* managed_by_label = "app.kubernetes.io/managed-by";  // = "berth"
inline constexpr const char* instance_label = "berth/instance";
inline constexpr const char* deployment_label = "berth/deployment";
inline constexpr const char* app_label = "berth/app";
// On what belongs to a custom domain, with the value "domain".
inline constexpr const char* component_label = "app.kubernetes.io/component";
inline constexpr const char* domain_component = "domain";
inline constexpr const char* hash_annotation = "berth/hash";
inline constexpr const char* rollout_annotation = "berth/rollout";
// On each pod: the hash of the template that it was made from, so that new ones are told from old.
inline constexpr const char* template_annotation = "berth/template";

// What `kubectl -l` takes to see everything that this berthd made, and nothing else.
std::string selector(const Settings& settings);

std::string namespace_of(const std::string& app_id);  // of an operator app
std::string object_name(
    const std::string& deployment_id);  // of each of a deployment's objects, but …
std::string registry_secret_name(const std::string& deployment_id);  // … of the second Secret

// The app's namespace and what stands in it for all of its deployments: Namespace, ResourceQuota,
// LimitRange, NetworkPolicy, ServiceAccount. The quota holds `size` five times: a deployment's pod,
// the one that replaces it, and those that still end.
std::vector<Object> of_namespace(const std::string& app_id, const deployments::AppSize& size,
                                 const Settings& settings);

// The deployment's own objects in the order in which they are applied: Secret (variables), Secret
// (registry credentials, where there are any), Service, Deployment, Ingress (left out while
// host_is_held), Certificate (where the sub-domain has one of its own). A stopped one keeps them
// all, with 0 replicas.
std::vector<Object> of_deployment(const deployments::Wish& wish, const Settings& settings);

// Of what a custom domain is served with: the name of its Ingress and its Certificate, and of the
// TLS secret. Each domain of a deployment has names of its own, so that two never share a secret.
std::string domain_object_name(const std::string& deployment_id, const std::string& domain);
std::string domain_secret_name(const std::string& deployment_id, const std::string& domain);

// The custom domain's Ingress, and its Certificate. Needs settings.cluster_issuer. That the DNS
// points to us is for the caller to know: a Certificate is an order.
Object domain_ingress(const deployments::Deployment& deployment, const std::string& domain,
                      const Settings& settings);
Object domain_certificate(const deployments::Deployment& deployment, const std::string& domain,
                          const Settings& settings);

// The hash of an object without its hash annotation, as the annotation has it.
std::string hash_of(const Object& object);

}  // namespace berth::manifests
