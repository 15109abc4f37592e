#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/embedded/apiserver/registry.h"
#include "reconcilers/embedded/ingress/served_certificates.h"
#include "reconcilers/embedded/timing.h"

namespace berth::embedded {

// Does what cert-manager 1.21 does with a Certificate, in its words: the conditions Ready and
// Issuing, then the TLS secret (https://cert-manager.io/docs/usage/certificate/). Every issuer is
// accepted, and control of the host names isn't checked. A secret that exists already and fits is
// used as it is, and stays when its Certificate is deleted. There are no CertificateRequests,
// Orders or renewals. The caller must hold the store's mutex.
//
// If an ingress controller serves the hosts, it has the certificates ordered, and this class says
// how it stands with them: Ready only while visitors are served a certificate. The keys stay where
// they are; there is no secret.
class CertificateController {
 public:
  CertificateController(Store& store, Registry& registry, Timing timing, bool remembers_orders)
      : store_(store), registry_(registry), timing_(timing), remembers_orders_(remembers_orders) {}

  // Does what is due for the certificate. Returns when to look at it again.
  std::optional<Moment> reconcile(const Key& key, Moment now);
  void forget(const std::string& uid);

  // From now on, `served` says how it stands with the certificate of a host. `order` is the uid of
  // the Certificate. It must not wait.
  using Served =
      std::function<ServedCertificate(const std::string& host, const std::string& order)>;
  void report(Served served) { served_ = std::move(served); }

  // From now on every order fails for the reason `why`. With an empty text, orders succeed again.
  void refuse(std::string why) { refusal_ = std::move(why); }
  // The host names of the orders that were started, in order.
  const std::vector<std::string>& orders() const { return orders_; }

 private:
  std::optional<Moment> report(const Key& key, const Json& certificate, Moment now);
  std::optional<Moment> issue(const Key& key, const Json& certificate, Moment now);
  void fail(const Key& key, Json certificate, const std::string& why);
  void write_secret(const Json& certificate);

  Store& store_;
  Registry& registry_;
  const Timing timing_;
  const bool remembers_orders_;
  Served served_;
  std::string refusal_;
  std::vector<std::string> orders_;
  std::map<std::string, Moment> done_at_;   // when an order will be done, by the certificate's uid
  std::map<std::string, Moment> retry_at_;  // when a failed order is tried again
};

}  // namespace berth::embedded
