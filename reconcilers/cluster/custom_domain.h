#pragma once

#include <functional>
#include <optional>
#include <string>

#include "controller/base/log.h"
#include "controller/base/shares.h"
#include "reconcilers/cluster/custom_domain_objects.h"
#include "reconcilers/cluster/keyed_mutex.h"
#include "reconcilers/cluster/outcome.h"
#include "reconcilers/dns/resolver.h"

namespace berth::reconcilers {

// Brings custom domains to the cluster and removes them from it. The loop is level-based and takes
// a deployment's id.
//
// A Certificate is an order: cert-manager places it with the issuer at once. So a Certificate is
// only made in a pass that has asked the DNS and found the claim proven, and it is withdrawn while
// the row says that the domain has to wait. A certificate that is already being served stays until
// it expires. Thread-safe for different ids.
class DomainLoop {
 public:
  // How many domains are looked up at the same time, each by a thread of its own. They mostly
  // wait for name servers, so this many silent ones can be asked. An owner has a share of them
  // (base/shares.h).
  static constexpr std::size_t look_ups = 16;
  // For LoopWorkers.
  static constexpr const char* label = "domain";
  static constexpr const char* thread_name = "domains";
  static constexpr int workers = int(look_ups);
  static constexpr bool is_queued_anew = false;  // what is left of a claim that is gone isn't

  struct Parts {
    db::Database& database;
    kube::Client& client;
    Cache& cache;
    const manifests::Settings& settings;
    const dns::Resolver& resolver;
    // Locked, by deployment id, by everyone who writes objects of that deployment. The lock isn't
    // held while the DNS is asked.
    KeyedMutex& deployments;
    // Called when the domain's row says something new.
    std::function<void(const std::string& id)> domain_changed;
  };
  explicit DomainLoop(Parts parts);

  // What a pass was about, for the log. The fields are empty if no domain is claimed.
  struct Subject {
    std::string domain;
    std::string state;  // after the pass; before it, if it ends early
  };
  // Brings the domain of one deployment to the state that the row wants. Fills `subject` if there
  // is a claim, also if the pass ends early or fails. Throws kube::ApiError if the cluster has to
  // be tried again, and berth::Error if the database has to be. May take as long as check_domain()
  // needs for the DNS. The pauses differ a little, so that domains that were claimed together
  // aren't checked together for ever.
  Outcome reconcile(const std::string& deployment_id, Subject& subject);
  static void log_pass(log::Level level, const std::string& deployment_id, const Subject& subject,
                       const std::string& reason, Took took);

 private:
  struct View;
  Outcome pass(const std::string& deployment_id, Subject& subject);
  static void name(Subject& subject, const View& view);
  enum class Proof { none, fresh };  // fresh: the DNS confirmed the claim in this very pass

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
  Shares shares_{Pool::domain_checks, look_ups};
};

}  // namespace berth::reconcilers
