#pragma once

#include <prometheus/collectable.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berthd/money_watch.h"
#include "controller/db/database.h"
#include "controller/db/postgres/database.h"
#include "controller/domain/kernel/replicas.h"
#include "controller/transport/server.h"
#include "reconcilers/loops/metering.h"

namespace berth {

// Metrics that are computed whenever Prometheus reads them: the process, the build, the disk, the
// database, what waits in its tables, connections.
class Gauges : public prometheus::Collectable {
 public:
  // What the isolation probe has found.
  struct Isolation {
    bool proven = false;
    std::optional<int> open_paths = {};  // in the newest report
  };
  struct Sources {
    db::Database& database;
    db::postgres::Database* postgres;  // the same object, if it is on PostgreSQL; otherwise null
    const Replicas* replicas;          // null if the database isn't on PostgreSQL
    std::filesystem::path data_dir;
    std::function<api::ServerCounters()> http;            // of `listen`
    std::function<std::optional<Isolation>()> isolation;  // nothing if nothing is probed
    // How often billing came to each outcome, by name.
    std::function<std::vector<std::pair<std::string, std::uint64_t>>()> billing;
    std::function<reconcilers::MeteringLoop::Totals()> metering;
    // How often crons came to each outcome, by name.
    std::function<std::vector<std::pair<std::string, std::uint64_t>>()> crons;
    std::function<MoneyWatch::Counts()> anomalies;  // by rule; none until they were counted
  };
  explicit Gauges(Sources sources) : sources_(std::move(sources)) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Sources sources_;
};

}  // namespace berth
