#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/domain/deployments/custom_domains/certificate_orders.h"
#include "controller/domain/deployments/deployments.h"
#include "reconcilers/cluster/cache.h"
#include "reconcilers/cluster/pod_trouble.h"

namespace berth::reconcilers {

// Certificates of sub-domains, on platforms where each sub-domain has its own. The first
// certificate takes an order from the owner's budget, just as a custom domain's does. Thread-safe
// for different deployments.
class SubdomainCertificates {
 public:
  SubdomainCertificates(db::Database& database, const Cache& cache)
      : database_(database), cache_(cache) {}

  struct Admission {
    std::optional<std::chrono::milliseconds> again;  // when to try again
    std::optional<Trouble> held_back;                // why the certificate can't be ordered now
  };
  // Removes the Certificate from `desired` if it can't be applied, because the cluster has no
  // cert-manager or the owner has no order left, and says so.
  Admission admit(const deployments::Deployment& row, std::vector<Object>& desired);
  // Returns what keeps visitors from https://<sub-domain>, by what cert-manager says about the
  // Certificate in `desired`: that it isn't issued yet, or was refused. Returns nothing if it is
  // issued, or if there is none in `desired`. The certificate's result is recorded with its order.
  std::optional<Trouble> trouble(const deployments::Deployment& row,
                                 const std::vector<Object>& desired);
  // Removes the entry of a deployment whose objects are being deleted.
  void forget(const std::string& id);

 private:
  using SteadyClock = std::chrono::steady_clock;
  struct Refused {
    SteadyClock::time_point until;
    std::string message;
  };
  std::optional<std::string> order(const deployments::Deployment& row, const std::string& domain);
  void note_result(const deployments::Deployment& row, const std::string& domain,
                   certificate_orders::Result result);
  bool is_there(const Object& certificate) const;

  db::Database& database_;
  const Cache& cache_;
  std::mutex mutex_;
  std::set<std::string> granted_;  // deployments whose Certificate isn't in the cache yet
  std::map<std::string, Refused> refused_;
};

}  // namespace berth::reconcilers
