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

namespace berth::reconcilers {

// Certificates of sub-domains, on platforms where each sub-domain has its own. The first
// certificate takes an order from the owner's budget, just as a custom domain's does. Thread-safe
// for different deployments.
class SubdomainCertificates {
 public:
  SubdomainCertificates(db::Database& database, const Cache& cache)
      : database_(database), cache_(cache) {}

  // Removes the Certificate from `desired` if it can't be applied, because the cluster has no
  // cert-manager or the owner has no order left. In that case returns when to try again.
  std::optional<std::chrono::milliseconds> admit(const deployments::Deployment& row,
                                                 std::vector<Object>& desired);
  // Forgets a deployment that is being removed.
  void forget(const std::string& id);

 private:
  using SteadyClock = std::chrono::steady_clock;
  enum class Answer { granted, refused };
  Answer order(const deployments::Deployment& row, const Object& certificate);
  bool is_there(const Object& certificate) const;

  db::Database& database_;
  const Cache& cache_;
  std::mutex mutex_;
  std::set<std::string> granted_;  // deployments whose Certificate isn't in the cache yet
  std::map<std::string, SteadyClock::time_point> refused_until_;
};

}  // namespace berth::reconcilers
