#pragma once

#include <memory>

#include "controller/base/shares.h"
#include "controller/domain/deployments/container_logs.h"
#include "reconcilers/cluster/cache.h"
#include "reconcilers/kube/client.h"

namespace berth::reconcilers {

// Reads the logs of deployments' containers from the cluster. Thread-safe, and has to outlive its
// readers.
//
// A log that is followed goes on whatever happens to the container: after a crash come the end of
// the previous run and the next run, after a rollout come the newer pods, one after the other.
// Every line that the cluster still has comes exactly once and in order, whatever breaks in
// between. If the deployment, or the process that is wanted, is to have several containers when it
// is opened, the log is that of all of them, of max_merged at most; that of a previous run is that
// of the newest.
class ContainerLogs {
 public:
  // Each reader has a thread and a connection to the API server, and the client has 128 connections
  // for everything.
  static constexpr std::size_t max_readers = 64;
  // How many containers are read together. Each takes one of the readers.
  static constexpr std::size_t max_merged = 10;

  ContainerLogs(kube::Client& client, const Cache& cache)
      : client_(client),
        cache_(cache),
        readers_(std::make_shared<Shares>(Pool::log_readers, max_readers)) {}

  // Starts a reader for the claimant of the calling thread; see container_logs::Open.
  container_logs::Reader open(const container_logs::Wanted& wanted);

 private:
  kube::Client& client_;
  const Cache& cache_;
  const std::shared_ptr<Shares> readers_;
};

}  // namespace berth::reconcilers
