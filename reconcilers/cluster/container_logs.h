#pragma once

#include <atomic>
#include <memory>

#include "controller/domain/deployments/container_logs.h"
#include "reconcilers/cluster/cache.h"
#include "reconcilers/kube/client.h"

namespace berth::reconcilers {

// Reads the logs of deployments' containers off the cluster. Thread-safe; outlives its readers.
//
// One that is followed goes on over everything that happens to the container: after a crash with
// the end of the run before and the next one, after a rollout with the pods that came later, one
// after the other. What the cluster still has comes once and in order, whatever breaks in between.
class ContainerLogs {
 public:
  // Each has a thread and a connection to the API server; the client has 128 for everything.
  static constexpr int max_readers = 64;

  ContainerLogs(kube::Client& client, const Cache& cache)
      : client_(client), cache_(cache), readers_(std::make_shared<std::atomic<int>>(0)) {}

  // See container_logs::Open.
  container_logs::Reader open(const container_logs::Wanted& wanted);

 private:
  kube::Client& client_;
  const Cache& cache_;
  const std::shared_ptr<std::atomic<int>> readers_;
};

}  // namespace berth::reconcilers
