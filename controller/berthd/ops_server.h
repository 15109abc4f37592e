#pragma once

#include <prometheus/collectable.h>
#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/transport/http.h"
#include "controller/berthd/config.h"

namespace berth {

// One line of /readyz.
struct Check {
  std::string name;
  bool ok = false;
  std::string detail;
  bool decides = false;  // whether a failure turns the answer into 503
};

// /metrics (Prometheus text), /livez (200 while the process serves) and /readyz, on a port of their
// own that isn't for the public. Thread-safe.
class OpsServer {
 public:
  // Listens at once; throws std::runtime_error naming the address. `headers` are those of every
  // answer; `more` is collected beside the registry.
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
