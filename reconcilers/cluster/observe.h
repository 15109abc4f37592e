#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/deployments.h"
#include "reconcilers/cluster/pod_trouble.h"
#include "reconcilers/cluster/store.h"

// Translates what the cluster reports about a deployment into the domain's terms, by pure
// functions.
namespace berth::reconcilers {

// The version of berth's pod template that a pod has, and the one that its Deployment wants; empty
// if they don't say.
std::string template_of(const Object& pod);
std::string template_wanted_by(const Object& deployment);

// What the API server has about one deployment.
struct Live {
  std::vector<Object> deployments;  // the Deployment of each process, in any order
  std::vector<Object> pods;         // of all processes, including pods that are being deleted
  // The pods' events, by the name of the pod; only for those of pods_with_questions().
  std::map<std::string, std::vector<Object>> events;
};

struct Seen {
  deployments::Observation observation;
  // If set, time alone will change the observation after this long, without any event.
  std::optional<Duration> look_again;
};

// The state of a deployment: that of the process that is worst off. It is running only if each
// process has all its containers and only new pods are left, or if it was running and at least one
// container of each process still does its work. The message names the process, unless there is web
// alone; container, image and node are those of web, or of the first process. `row` holds the
// desired state that was applied and the last recorded state: a deployment that was pending stays
// so until its first container has started, and one that was running isn't in trouble at the first
// failed probe.
Seen observe(const deployments::Deployment& row, const Live& live, const Patience& patience,
             Instant now);

// Puts the pod's container, image and node into the observation.
void describe(deployments::Observation& seen, const Object& pod);

// A pod that does the deployment's work as before, while it isn't brought to the cluster as it is
// wanted: one of web, if it is to have web, because workers that go on don't answer for it. Null if
// there is none.
const Object* serving_pod(const deployments::Deployment& row, const Live& live);

// The observation if a deployment can't be brought to the cluster as it is wanted, because the API
// server refuses berth's objects or because its image must not be pulled.
deployments::Observation refused(const deployments::Deployment& row, const Live& live,
                                 const Trouble& why);
// The observation if the API server doesn't answer: everything stays as last recorded, except for
// the reason.
deployments::Observation unreachable(const deployments::Deployment& row);
// The observation if the API server answers berth's writes with errors of its own, and goes on to
// do so: everything stays as last recorded, except for phase and reason. `message` says who fails.
deployments::Observation writes_refused(const deployments::Deployment& row,
                                        const std::string& message);
// The observation while a deployment that isn't on the cluster yet is kept from it, with the reason
// for its owner.
deployments::Observation held_back(const deployments::Deployment& row, const std::string& why);
// The observation if the API server answers but can't take berth's objects yet. `phase` says what
// is waited for.
deployments::Observation waiting(const deployments::Deployment& row, const std::string& phase);

// Whether applying `desired`, the Deployment object of a process to be, has to wait while `current`
// is in the middle of a rollout. `pods` are the process' pods. If the template changes then, the
// Deployment's controller first ends pods that aren't available, oldest first, and a pod counts as
// available only after it has been ready for minReadySeconds. So the pod that serves requests must
// not be younger than that (kubernetes, pkg/controller/deployment/rolling.go).
bool must_wait(const Object& current, const std::vector<ObjectPtr>& pods, const Object& desired);

// Whether applying `desired`, the Deployment object of a process to be, makes nodes start
// containers of another template than those that run, and thereby pull an image. `current` is null
// if there is none yet. More containers of the same template don't count: their image was looked at
// before, and the autoscaler mustn't have to wait for a registry.
bool starts_container(const Object& current, const Object& desired);

// How many pods of a process are asked what happened. The events of more pods than this would
// repeat the same reason, and a deployment has at most max_processes of them.
inline constexpr size_t max_pods_asked = 2;
// Returns the names of the pods whose events observe() needs at `now`: those whose container waits
// to be started, or has run for a while without being ready. Of each process there are at most
// max_pods_asked, new ones first.
std::vector<std::string> pods_with_questions(const Live& live, const Patience& patience,
                                             Instant now);

}  // namespace berth::reconcilers
