#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/deployments.h"
#include "reconcilers/cluster/pod_trouble.h"
#include "reconcilers/cluster/store.h"

// What the cluster made of a deployment, in the words of the domain. Pure.
namespace berth::reconcilers {

// What the API server says about one deployment.
struct Live {
  Object deployment;                                  // null where there is none
  std::vector<Object> pods;                           // those that are being deleted too
  std::map<std::string, std::vector<Object>> events;  // by the name of a pod that isn't ready
};

struct Seen {
  deployments::Observation observation;
  // The time alone will change the observation then, without any event.
  std::optional<Duration> look_again;
};

// `row` is the wish that was applied, and what was recorded last: a deployment that was pending
// stays so until its first container started, and one that was running isn't in trouble at the
// first failed probe.
Seen observe(const deployments::Deployment& row, const Live& live, const Patience& patience,
             Instant now);

// The API server doesn't take our objects.
deployments::Observation refused(const deployments::Deployment& row, const Live& live,
                                 const std::string& message);
// It doesn't answer, so nothing is known but what was seen last.
deployments::Observation unreachable(const deployments::Deployment& row);
// It is there and can't take our objects yet.
deployments::Observation waiting(const deployments::Deployment& row, const std::string& phase);

// Whether `desired`, the Deployment as it is to be, has to wait before it replaces `current`. In
// the middle of a rollout another template lets the Deployment's controller end what isn't
// available first, the oldest before the others, and a pod is available only once it has been ready
// for minReadySeconds: the one that serves must not be younger (kubernetes,
// pkg/controller/deployment/rolling.go).
bool must_wait(const Object& current, const std::vector<ObjectPtr>& pods, const Object& desired);

// The pods whose events `observe` looks at.
std::vector<std::string> pods_with_questions(const Live& live);

}  // namespace berth::reconcilers
