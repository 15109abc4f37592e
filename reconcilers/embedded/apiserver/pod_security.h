#pragma once

#include <string>

#include "reconcilers/embedded/apiserver/types.h"

namespace berth::embedded {

// What a pod's spec contains that a level of the Pod Security Standards
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/) doesn't allow, in the
// words of the PodSecurity admission plugin. Empty if everything is allowed, or if the level is
// neither `restricted` nor `baseline`. Checks host namespaces, privileged containers, host ports,
// volume types, privilege escalation, capabilities, runAsNonRoot, runAsUser and seccompProfile.
std::string pod_security_violations(const std::string& level, const Json& spec);

}  // namespace berth::embedded
