#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/simulated/apiserver/registry.h"
#include "reconcilers/simulated/timing.h"

namespace berth::simulated {

// What cert-manager 1.11 does with a Certificate, in its words: conditions Ready and Issuing, then
// the TLS secret (https://cert-manager.io/docs/usage/certificate/). Any issuer will do; nobody asks
// for the host names. A secret that is there already and fits is taken as it is, and stays when its
// Certificate goes. Not done: CertificateRequests, Orders and renewals. Needs the store's mutex.
class CertificateController {
 public:
  CertificateController(Store& store, Registry& registry, Timing timing)
      : store_(store), registry_(registry), timing_(timing) {}

  // Does what is due for the certificate, and returns when to look again.
  std::optional<Moment> reconcile(const Key& key, Moment now);
  void forget(const std::string& uid);

  // From now on each order fails, and this is why; empty: no more.
  void refuse(std::string why) { refusal_ = std::move(why); }
  // The host name of each order that was begun, in their order.
  const std::vector<std::string>& orders() const { return orders_; }

 private:
  std::optional<Moment> issue(const Key& key, const Json& certificate, Moment now);
  void fail(const Key& key, Json certificate);
  void write_secret(const Json& certificate);

  Store& store_;
  Registry& registry_;
  const Timing timing_;
  std::string refusal_;
  std::vector<std::string> orders_;
  std::map<std::string, Moment> done_at_;   // of orders on their way, by the certificate's uid
  std::map<std::string, Moment> retry_at_;  // of those that failed
};

}  // namespace berth::simulated
