#pragma once

#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "api/gate/services.h"
#include "api/transport/server.h"
#include "controller/berthd/config.h"
#include "controller/berthd/exit_codes.h"
#include "controller/domain/kernel/keys.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/engine.h"
#include "reconcilers/loops/mail.h"
#include "reconcilers/loops/webhooks.h"
#include "reconcilers/simulated/cluster.h"

// What the configuration says about the parts of berthd: their options, and the parts that exist
// only with some settings. Used by platform.cpp, which puts the parts together.
namespace berth {

// Runs `work()` and returns its result. If it throws std::runtime_error, throws StartError with
// this exit code, and with `what` at the beginning of the message.
template <typename Work>
auto or_end_with(int code, const std::string& what, Work&& work) {
  try {
    return work();
  } catch (const std::runtime_error& failure) {
    throw StartError(code, what + ": " + failure.what());
  }
}

// Starts the simulated cluster. Returns null if the configuration names another cluster.
std::unique_ptr<simulated::Cluster> simulated_cluster(const Config& config);
// Returns how to reach the simulated cluster or, if that is null, the cluster of the configuration.
// Throws StartError.
kube::Kubeconfig cluster_access(const Config& config, const simulated::Cluster* simulated);
// `instance` is the id of this berthd's database.
manifests::Settings manifest_settings(const Config& config, const std::string& instance);
// Throws StartError if the cluster's access or the namespace of the Lease can't be found.
// `why_new_ones_wait` may be empty; the engine calls it from its workers.
reconcilers::Engine::Parts engine_parts(const Config& config, const simulated::Cluster* simulated,
                                        db::Database& database, const Keys& keys,
                                        const std::string& instance,
                                        std::shared_ptr<prometheus::Registry> registry,
                                        std::function<std::string()> why_new_ones_wait);

// The options of `listen`. Whatever shows the internal secret is answered even by an overloaded
// server; `internal_secret` is empty if the listener doesn't take it.
api::ServerOptions server_options(const Config& config, const std::string& internal_secret);
// The options of `internal-listen`, which must be set. The listener serves admins and their
// programs alone, so it handles fewer requests at the same time.
api::ServerOptions internal_server_options(const Config& config,
                                           const std::string& internal_secret);
// Returns the header fields that every answer has.
api::Fields common_headers(const Config& config);

// Creates the loop that sends mail. Returns null, and logs that, if no mail server is set.
std::unique_ptr<reconcilers::MailLoop> mail_loop(const Config& config, db::Database& database,
                                                 const Clock& clock, const Keys& keys,
                                                 std::shared_ptr<prometheus::Registry> registry);
std::unique_ptr<reconcilers::WebhookLoop> webhook_loop(
    const Config& config, db::Database& database, const api::Services& services,
    std::shared_ptr<prometheus::Registry> registry);

}  // namespace berth
