#include "reconcilers/cluster/custom_domain_objects.h"

#include <algorithm>

namespace berth::reconcilers {
namespace {

using deployments::Deployment;
using Kind = CertificateState::Kind;

bool has_certificate(const std::vector<Tracked>& objects, const std::string& secret) {
  return std::ranges::any_of(objects, [&](const Tracked& tracked) {
    return tracked.resource->kind == kube::certificates.kind &&
           text_at(*tracked.object, {"spec", "secretName"}) == secret;
  });
}

// The name of the TLS secret that an Ingress serves; empty if it has none.
std::string tls_secret_of(const Object& ingress) {
  const Object& tls = field(ingress, {"spec", "tls"});
  return tls.is_array() && !tls.empty() ? text_at(tls.front(), {"secretName"}) : "";
}

// A condition that cert-manager wrote for an older spec says nothing about the present one.
bool is_current(const Object& certificate, const Object& told) {
  return field(told, {"observedGeneration"}).is_null() ||
         number_at(told, {"observedGeneration"}) >=
             number_at(certificate, {"metadata", "generation"});
}

}  // namespace

bool is_of_domain(const Object& object) {
  return label_of(object, manifests::component_label) == manifests::domain_component;
}

CertificateState state_of(const Object& certificate) {
  if (is_being_deleted(certificate))
    return {.kind = Kind::leaving, .message = "", .certificate = {}};
  const Object& ready = condition(certificate, "Ready");
  const auto expires = instant_at(certificate, {"status", "notAfter"});
  if (text_at(ready, {"status"}) == "True" && is_current(certificate, ready) && expires)
    return {.kind = Kind::ready,
            .message = "",
            .certificate = custom_domains::Certificate{
                .expires_at = *expires,
                .renews_at = instant_at(certificate, {"status", "renewalTime"})}};
  const Object& issuing = condition(certificate, "Issuing");
  if (text_at(issuing, {"status"}) == "False" && text_at(issuing, {"reason"}) == "Failed")
    return {.kind = Kind::failed, .message = text_at(issuing, {"message"}), .certificate = {}};
  return {.kind = Kind::waiting, .message = "", .certificate = {}};
}

Applier::Result DomainObjects::make(const Deployment& row, const std::string& domain) {
  return applier_.apply({manifests::domain_ingress(row, domain, settings_),
                         manifests::domain_certificate(row, domain, settings_)});
}

CertificateState DomainObjects::state_of(const Deployment& row, const std::string& domain) const {
  const ObjectPtr live =
      cache_.store(kube::certificates)
          .find(manifests::namespace_of(row.app_id), manifests::domain_object_name(row.id, domain));
  return live ? reconcilers::state_of(*live) : CertificateState();
}

bool DomainObjects::has_ingress(const Deployment& row, const std::string& domain) const {
  return cache_.store(kube::ingresses)
             .find(manifests::namespace_of(row.app_id),
                   manifests::domain_object_name(row.id, domain)) != nullptr;
}

int DomainObjects::withdraw(const Deployment& row, const std::string& domain) {
  const ObjectPtr live =
      cache_.store(kube::certificates)
          .find(manifests::namespace_of(row.app_id), manifests::domain_object_name(row.id, domain));
  if (!live || is_being_deleted(*live)) return 0;
  client_.remove(kube::certificates, namespace_of(*live), name_of(*live), uid_of(*live));
  return 1;
}

DomainObjects::Removed DomainObjects::remove_all_but(const Deployment& row,
                                                     const std::optional<std::string>& keep) {
  const std::vector<Tracked> all = of(row.id);
  Removed removed;
  for (const auto& [resource, object] : all) {
    const std::string name = name_of(*object);
    if (keep && name == manifests::domain_object_name(row.id, *keep)) continue;
    ++removed.left;
    if (is_being_deleted(*object)) continue;
    if (resource->kind == kube::ingresses.kind) {
      const std::string secret = tls_secret_of(*object);
      if (has_certificate(all, secret)) continue;
      if (!secret.empty()) removed.writes += secrets_.remove(namespace_of(*object), {secret});
    }
    client_.remove(*resource, namespace_of(*object), name, uid_of(*object));
    ++removed.writes;
  }
  return removed;
}

int DomainObjects::remove_secrets(const Deployment& row, const std::vector<std::string>& domains) {
  std::vector<std::string> names;
  names.reserve(domains.size());
  for (const std::string& domain : domains)
    names.push_back(manifests::domain_secret_name(row.id, domain));
  return secrets_.remove(manifests::namespace_of(row.app_id), names);
}

bool DomainObjects::is_anything_left(const Deployment& row) {
  const kube::ListOptions ours = {.name_space = manifests::namespace_of(row.app_id),
                                  .label_selector = manifests::selector(settings_, row.id) + "," +
                                                    manifests::component_label + "=" +
                                                    manifests::domain_component,
                                  .field_selector = ""};
  for (const kube::Resource* resource : {&kube::ingresses, &kube::certificates})
    if (cache_.serves(*resource) && !client_.list(*resource, ours).items.empty()) return true;
  return false;
}

std::vector<Tracked> DomainObjects::of(const std::string& deployment_id) const {
  std::vector<Tracked> all = cache_.of_deployment(deployment_id);
  std::erase_if(all, [](const Tracked& tracked) { return !is_of_domain(*tracked.object); });
  return all;
}

}  // namespace berth::reconcilers
