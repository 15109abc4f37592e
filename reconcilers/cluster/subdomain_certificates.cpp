#include "reconcilers/cluster/subdomain_certificates.h"

#include <algorithm>

#include "controller/base/log.h"

namespace berth::reconcilers {
namespace {

// cert-manager may be installed, or an order may become available, sooner than announced.
constexpr std::chrono::minutes longest_wait{10};

bool is_certificate(const Object& object) {
  return text_at(object, {"kind"}) == kube::certificates.kind;
}

}  // namespace

std::optional<std::chrono::milliseconds> SubdomainCertificates::admit(
    const deployments::Deployment& row, std::vector<Object>& desired) {
  const auto found = std::ranges::find_if(desired, is_certificate);
  if (found == desired.end()) return std::nullopt;
  const bool is_served = cache_.serves(kube::certificates);
  if (is_served && is_there(*found)) {
    const std::lock_guard lock(mutex_);
    granted_.erase(row.id);
    return std::nullopt;
  }
  if (is_served && order(row, *found) == Answer::granted) return std::nullopt;
  desired.erase(found);
  return longest_wait;
}

void SubdomainCertificates::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  granted_.erase(id);
  refused_until_.erase(id);
}

// If the Certificate exists, nothing is ordered any more. A missing one takes an order from the
// budget, although cert-manager needs none if the secret is still there: berthd can't know that.
bool SubdomainCertificates::is_there(const Object& certificate) const {
  return cache_.find(certificate) != nullptr;
}

SubdomainCertificates::Answer SubdomainCertificates::order(const deployments::Deployment& row,
                                                           const Object& certificate) {
  {
    const std::lock_guard lock(mutex_);
    // An order was taken; the apply failed or its answer isn't in the cache yet.
    if (granted_.contains(row.id)) return Answer::granted;
    const auto refused = refused_until_.find(row.id);
    if (refused != refused_until_.end() && SteadyClock::now() < refused->second)
      return Answer::refused;
  }
  const certificate_orders::Purchase purchase = {
      .owner_id = row.owner_id,
      .app_id = row.app_id,
      .domain = field(certificate, {"spec", "dnsNames"}).at(0).get<std::string>()};
  const auto refusal =
      database_.write([&](db::Tx& tx) { return certificate_orders::take(tx, purchase); });
  const std::lock_guard lock(mutex_);
  refused_until_.erase(row.id);
  if (!refusal) {
    granted_.insert(row.id);
    return Answer::granted;
  }
  log::warning("no certificate was ordered for a sub-domain",
               {{"deployment", row.id}, {"domain", purchase.domain}, {"error", refusal->message}});
  std::erase_if(refused_until_,
                [](const auto& entry) { return entry.second < SteadyClock::now(); });
  refused_until_[row.id] = SteadyClock::now() + longest_wait;
  return Answer::refused;
}

}  // namespace berth::reconcilers
