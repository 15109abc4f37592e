#include "reconcilers/cluster/release_gate.h"

namespace berth::reconcilers {
namespace {

using deployments::HealthStatus;
using deployments::Observation;
using deployments::Status;

void describe_serving(Observation& seen, const Object& pod) {
  describe(seen, pod);
  seen.health_status = HealthStatus::healthy;
}

}  // namespace

Observation releasing(const deployments::Deployment& row, const Live& live) {
  Observation seen;
  const Object* serving = serving_pod(row, live);
  seen.status = row.status == Status::pending && !serving ? Status::pending : Status::deploying;
  seen.phase = releasing_phase;
  seen.health_status = HealthStatus::unknown;
  if (serving) describe_serving(seen, *serving);
  return seen;
}

Observation release_failed(const deployments::Deployment& row, const Live& live,
                           const std::string& message) {
  Observation seen;
  const Object* serving = serving_pod(row, live);
  seen.status = serving ? Status::running : Status::errored;
  seen.reason = deployments::Reason::release_failed;
  seen.message = message;
  seen.health_status = HealthStatus::unhealthy;
  if (serving) describe_serving(seen, *serving);
  return seen;
}

}  // namespace berth::reconcilers
