#pragma once

#include <functional>
#include <optional>
#include <string>

#include "reconcilers/cluster/custom_domain_objects.h"
#include "reconcilers/cluster/keyed_mutex.h"
#include "reconcilers/cluster/outcome.h"
#include "reconcilers/dns/resolver.h"

namespace berth::reconcilers {

// Brings custom domains to the cluster, and takes them off it. Level-based, by the deployment's id.
//
// A Certificate is an order: cert-manager places it at once. So one is applied only in a pass that
// has asked the DNS and found the claim proven, and it is withdrawn where the row says that the
// domain waits. What is served already goes on being served until it expires.
class DomainLoop {
 public:
  struct Parts {
    db::Database& database;
    kube::Client& client;
    Cache& cache;
    const manifests::Settings& settings;
    const dns::Resolver& resolver;
    // Held, by the deployment's id, by whoever writes objects of a deployment. Never while the DNS
    // is asked.
    KeyedMutex& deployments;
    std::function<void(const std::string& id)> domain_changed;  // its row says something new
  };
  explicit DomainLoop(Parts parts);

  // What a pass was about, for the log; empty where there is no claim.
  struct Subject {
    std::string domain;
    std::string state;  // as it is afterwards
  };
  // Fills `subject` in any case. Throws kube::ApiError where the cluster has to be tried again,
  // berth::Error where the database has. May take as long as the DNS, see check_domain.
  Outcome reconcile(const std::string& deployment_id, Subject& subject);

 private:
  struct View;
  enum class Proof { none, fresh };  // fresh: the DNS said so in this very pass

  std::optional<View> view_of(const std::string& deployment_id);
  std::optional<std::string> obstacle(const View& view) const;
  bool has_to_look(const View& view) const;
  bool look(View& view, Proof& proof);
  Outcome act(View& view, Proof proof);
  Outcome serve(View& view, Proof proof);
  Outcome wait(const View& view);
  Outcome clear(const View& view);
  void begin(View& view);
  void take(View& view, const CertificateState& seen);
  void changed(View& view, std::optional<custom_domains::Claim> next);

  const Parts parts_;
  DomainObjects objects_;
};

}  // namespace berth::reconcilers
