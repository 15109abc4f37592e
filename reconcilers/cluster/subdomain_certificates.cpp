#include "reconcilers/cluster/subdomain_certificates.h"

#include <algorithm>

#include "controller/base/log.h"
#include "reconcilers/cluster/custom_domain_objects.h"

namespace berth::reconcilers {
namespace {

using deployments::Deployment;
using deployments::Reason;

// cert-manager may be installed, or an order may become available, sooner than announced.
constexpr std::chrono::minutes longest_wait{10};

bool is_certificate(const Object& object) {
  return text_at(object, {"kind"}) == kube::certificates.kind;
}

std::string domain_of(const Object& certificate) {
  return field(certificate, {"spec", "dnsNames"}).at(0).get<std::string>();
}

Trouble pending(const std::string& message) { return {Reason::certificate_pending, message}; }

}  // namespace

SubdomainCertificates::Admission SubdomainCertificates::admit(const Deployment& row,
                                                              std::vector<Object>& desired) {
  const auto found = std::ranges::find_if(desired, is_certificate);
  if (found == desired.end()) return {};
  const std::string domain = domain_of(*found);
  std::string why;
  if (!cache_.serves(kube::certificates)) {
    why = "the cluster has no cert-manager, which would issue the certificate of " + domain;
  } else if (is_there(*found)) {
    const std::lock_guard lock(mutex_);
    granted_.erase(row.id);
    return {};
  } else if (const auto refused = order(row, domain)) {
    why = "no certificate of " + domain + " can be ordered: " + *refused;
  } else {
    return {};
  }
  desired.erase(found);
  return {.again = longest_wait, .held_back = pending(why)};
}

std::optional<Trouble> SubdomainCertificates::trouble(const Deployment& row,
                                                      const std::vector<Object>& desired) {
  using Kind = CertificateState::Kind;
  const auto found = std::ranges::find_if(desired, is_certificate);
  if (found == desired.end()) return std::nullopt;
  const std::string domain = domain_of(*found);
  const ObjectPtr live = cache_.find(*found);
  const CertificateState state = live ? state_of(*live) : CertificateState();
  switch (state.kind) {
    case Kind::ready:
      note_result(row, domain, certificate_orders::Result::issued);
      return std::nullopt;
    case Kind::failed:
      note_result(row, domain, certificate_orders::Result::failed);
      return Trouble{Reason::certificate_failed,
                     "the issuer refused the certificate of " + domain + ": " + state.message};
    case Kind::none:
    case Kind::leaving:
    case Kind::waiting:
      break;
  }
  return pending("the certificate of " + domain + " isn't issued yet");
}

void SubdomainCertificates::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  granted_.erase(id);
  refused_.erase(id);
}

// If the Certificate exists, nothing is ordered any more. A missing one takes an order from the
// budget, although cert-manager needs none if the secret is still there: berthd can't know that.
bool SubdomainCertificates::is_there(const Object& certificate) const {
  return cache_.find(certificate) != nullptr;
}

// Takes an order, or returns why none is left.
std::optional<std::string> SubdomainCertificates::order(const Deployment& row,
                                                        const std::string& domain) {
  {
    const std::lock_guard lock(mutex_);
    // An order was taken; the apply failed or its answer isn't in the cache yet.
    if (granted_.contains(row.id)) return std::nullopt;
    const auto refused = refused_.find(row.id);
    if (refused != refused_.end() && SteadyClock::now() < refused->second.until)
      return refused->second.message;
  }
  const certificate_orders::Purchase purchase = {
      .owner_id = row.owner_id, .app_id = row.app_id, .domain = domain};
  const auto refusal =
      database_.write([&](db::Tx& tx) { return certificate_orders::take(tx, purchase); });
  const std::lock_guard lock(mutex_);
  refused_.erase(row.id);
  if (!refusal) {
    granted_.insert(row.id);
    return std::nullopt;
  }
  log::warning("no certificate was ordered for a sub-domain",
               {{"deployment", row.id}, {"domain", domain}, {"error", refusal->message}});
  std::erase_if(refused_,
                [](const auto& entry) { return entry.second.until < SteadyClock::now(); });
  const std::string message =
      refusal->message + "; the next one is possible at " + to_iso8601(refusal->again_at);
  refused_[row.id] = {.until = SteadyClock::now() + longest_wait, .message = message};
  return message;
}

// What the row says shows whether the result is news.
void SubdomainCertificates::note_result(const Deployment& row, const std::string& domain,
                                        certificate_orders::Result result) {
  const bool is_news = result == certificate_orders::Result::issued
                           ? row.reason == Reason::certificate_pending
                           : row.reason != Reason::certificate_failed;
  if (!is_news) return;
  database_.write([&](db::Tx& tx) { certificate_orders::note_result(tx, domain, result); });
}

}  // namespace berth::reconcilers
