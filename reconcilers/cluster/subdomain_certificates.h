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

// The Certificates of sub-domains, where each has one of its own: a first one takes an order of the
// owner's budget, as those of custom domains do. Thread-safe for different deployments.
class SubdomainCertificates {
 public:
  SubdomainCertificates(db::Database& database, const Cache& cache)
      : database_(database), cache_(cache) {}

  // Takes the Certificate out of `desired` where it can't be applied: the cluster has no
  // cert-manager, or there is no order left; then it says when to look again.
  std::optional<std::chrono::milliseconds> admit(const deployments::Deployment& row,
                                                 std::vector<Object>& desired);

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
