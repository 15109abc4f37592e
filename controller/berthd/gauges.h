#pragma once

#include <prometheus/collectable.h>

#include <functional>

#include "controller/db/database.h"

namespace berth {

// Metrics that are computed whenever Prometheus reads them: deployments by status, commits,
// connections.
class Gauges : public prometheus::Collectable {
 public:
  struct Http {
    size_t open_connections = 0;
    size_t running_handlers = 0;
    std::uint64_t refused_connections = 0;
    std::uint64_t displaced_connections = 0;
  };
  Gauges(db::Database& database, std::function<Http()> http)
      : database_(database), http_(std::move(http)) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  db::Database& database_;
  std::function<Http()> http_;
};

}  // namespace berth
