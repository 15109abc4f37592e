#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/applier.h"
#include "reconcilers/cluster/secrets.h"

namespace berth::reconcilers {

// Whether an object belongs to a custom domain, and so to the domain loop instead of the deployment
// loop.
bool is_of_domain(const Object& object);

// The state of a Certificate according to its conditions (cert-manager.io/docs/reference/api-docs).
struct CertificateState {
  enum class Kind { none, leaving, waiting, ready, failed };
  Kind kind = Kind::none;
  std::string message;                                     // set if `kind` is failed
  std::optional<custom_domains::Certificate> certificate;  // set if `kind` is ready
};

CertificateState state_of(const Object& certificate);

// The objects of custom domains on the cluster: an Ingress, a Certificate, and the TLS secret that
// cert-manager writes. The functions that write or ask the server throw kube::ApiError. Thread-safe
// for different deployments.
class DomainObjects {
 public:
  DomainObjects(kube::Client& client, Cache& cache, const manifests::Settings& settings)
      : client_(client),
        cache_(cache),
        settings_(settings),
        applier_(client, cache),
        secrets_(client, cache) {}

  // Applies the Ingress and the Certificate. The Ingress comes first, so that it exists when the
  // certificate arrives.
  Applier::Result make(const deployments::Deployment& row, const std::string& domain);
  // These two answer from the cache.
  CertificateState state_of(const deployments::Deployment& row, const std::string& domain) const;
  bool has_ingress(const deployments::Deployment& row, const std::string& domain) const;

  // Deletes the Certificate, so that cert-manager neither orders nor renews it. The Ingress and the
  // secret stay and are served. Returns the number of writes.
  int withdraw(const deployments::Deployment& row, const std::string& domain);
  struct Removed {
    int writes = 0;
    // Objects that aren't gone yet, including those whose deletion has only been requested.
    size_t left = 0;
  };
  // Deletes all custom-domain objects of the deployment, except those of the domain `keep`. A
  // secret is deleted only after its Certificate, which would otherwise order it again, and before
  // its Ingress, which is how berthd knows that it is there.
  Removed remove_all_but(const deployments::Deployment& row,
                         const std::optional<std::string>& keep);
  // Deletes the TLS secrets of these domains, which must have no Certificates any more.
  int remove_secrets(const deployments::Deployment& row, const std::vector<std::string>& domains);
  // Asks the API server whether objects of custom domains are left, since the cache may be behind.
  bool is_anything_left(const deployments::Deployment& row);

 private:
  std::vector<Tracked> of(const std::string& deployment_id) const;

  kube::Client& client_;
  Cache& cache_;
  const manifests::Settings& settings_;
  Applier applier_;
  Secrets secrets_;
};

}  // namespace berth::reconcilers
