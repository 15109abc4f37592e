#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/applier.h"

namespace berth::reconcilers {

// Whether the object belongs to a custom domain: the domain loop's, and not the deployment loop's.
bool is_of_domain(const Object& object);

// What cert-manager says of a Certificate (cert-manager.io/docs/reference/api-docs, conditions).
struct CertificateState {
  enum class Kind { none, leaving, waiting, ready, failed };
  Kind kind = Kind::none;
  std::string message;                                     // of failed
  std::optional<custom_domains::Certificate> certificate;  // of ready
};

// The objects of custom domains on the cluster: Ingress, Certificate and the TLS secret that
// cert-manager writes. Throws kube::ApiError. Thread-safe for different deployments.
class DomainObjects {
 public:
  DomainObjects(kube::Client& client, Cache& cache, const manifests::Settings& settings)
      : client_(client), cache_(cache), settings_(settings), applier_(client, cache) {}

  // The Ingress first: it is there when the certificate is.
  Applier::Result make(const deployments::Deployment& row, const std::string& domain);
  CertificateState state_of(const deployments::Deployment& row, const std::string& domain) const;
  bool has_secret(const deployments::Deployment& row, const std::string& domain) const;

  // No order follows, also none of a renewal; what is served stays.
  int withdraw(const deployments::Deployment& row, const std::string& domain);
  // Removes what belongs to custom domains of the deployment, but for `keep`'s. The secret goes
  // after its Certificate, which would order it anew. Says how many are left.
  struct Removed {
    int writes = 0;
    size_t left = 0;
  };
  Removed remove_all_but(const deployments::Deployment& row,
                         const std::optional<std::string>& keep);
  // What the server itself still has, whatever the cache says.
  bool is_anything_left(const deployments::Deployment& row);

 private:
  std::vector<Tracked> of(const std::string& deployment_id) const;

  kube::Client& client_;
  Cache& cache_;
  const manifests::Settings& settings_;
  Applier applier_;
};

}  // namespace berth::reconcilers
