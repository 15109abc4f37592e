#pragma once

#include <chrono>
#include <string>

#include "controller/base/clock.h"
#include "reconcilers/embedded/apiserver/store.h"
#include "reconcilers/embedded/apiserver/types.h"

namespace berth::embedded {

// The tokens of ServiceAccounts that are projected into pods (kubernetes.io, "Projected Volumes",
// serviceAccountToken). They are JWTs that are signed with a key of this object, which lives in
// memory: the kubelet writes all of them anew when berthd has started. Thread-safe.
class PodTokens {
 public:
  PodTokens();

  // A token of the pod's account for `audience`.
  std::string issue(const Json& pod, const std::string& audience, std::chrono::seconds life,
                    Instant now) const;
  // Answers a TokenReview (authentication.k8s.io/v1): the object with its status, which says
  // whether the token is one of issue(), for one of the wanted audiences, hasn't expired, and its
  // pod is in the store. The caller must hold the store's mutex.
  Json review(Json review, const Store& store, Instant now) const;

 private:
  const std::string seed_;
  const std::string public_key_;
};

}  // namespace berth::embedded
