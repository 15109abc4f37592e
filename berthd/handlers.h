#pragma once

#include <prometheus/registry.h>

#include <memory>
#include <string>

#include "api/console/client_files.h"
#include "api/console/console.h"
#include "api/gate/gate.h"
#include "api/pages/pages.h"
#include "berthd/cluster_work.h"
#include "berthd/storage.h"
#include "reconcilers/loops/loops.h"

namespace berth {

// What answers requests: the console, the documentation, the hosted pages and the API, with what
// their handlers share. Thread-safe, but for add_to().
class Handlers {
 public:
  // `base_url` is the issuer, without a slash at its end. The others outlive this object.
  Handlers(Storage& storage, ClusterWork& cluster, prometheus::Registry& registry,
           const std::string& base_url);

  const api::Services& services() const { return services_; }
  void answer(const api::Request& request, api::Response& response);
  // Where the body of a request goes, as the gate says.
  std::optional<api::Upload> place_of_body(const api::Request& request) const {
    return gate_.place_of_body(request);
  }

  // Adds the loops that write what handlers have noted in memory, and read what has changed.
  void add_to(reconcilers::Loops& loops);
  // Reads what has to be in memory before the first request.
  void warm_up() { campaign_index_.refresh(storage_.database); }
  // Passes a notice of the database on.
  void changed(db::Topic topic, const std::string& id);
  // The same if notices may have been lost.
  void any_changed();

 private:
  api::Services make_services(ClusterWork& cluster, prometheus::Registry& registry,
                              const std::string& base_url);
  api::Backup begin_backup(const std::string& key);

  Storage& storage_;
  ClusterWork& cluster_;
  PasswordHasher passwords_;
  const std::unique_ptr<api::LoginThrottle> login_throttle_;
  api::SecurityLog security_log_;
  connections::UseLog uses_;
  accounts::SessionUses session_uses_;
  devices::UseLog device_uses_;
  personal_tokens::UseLog personal_token_uses_;
  ads::CampaignIndex campaign_index_;
  const api::Services services_;
  api::HttpMetrics metrics_;
  api::Gate gate_;
  api::pages::Pages pages_;
  const api::console::Console console_;
  const api::console::ClientFiles client_files_;
};

}  // namespace berth
