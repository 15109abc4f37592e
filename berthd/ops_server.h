#pragma once

#include <prometheus/collectable.h>
#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berthd/config.h"
#include "controller/transport/http.h"

namespace berth {

// One line of /readyz.
struct Check {
  std::string name;
  bool ok = false;
  std::string detail;
  bool decides = false;  // whether a failure makes the answer 503
};

// Serves /metrics (Prometheus text format), /livez (200 while the process serves) and /readyz, on a
// port of its own that isn't public. Thread-safe.
class OpsServer {
 public:
  // Listens at once. Throws StartError that names the address. `headers` are added to every
  // answer; `more` is collected in addition to the registry.
  OpsServer(const Address& address, api::Fields headers, prometheus::Registry& registry,
            std::shared_ptr<prometheus::Collectable> more,
            std::function<std::vector<Check>()> readiness);
  ~OpsServer();
  int port() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace berth
