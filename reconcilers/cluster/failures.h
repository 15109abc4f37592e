#pragma once

#include <string>

#include "reconcilers/kube/client.h"

namespace berth::reconcilers {

// What a failed API call means for the deployment loop.
enum class Failure {
  // No answer, or berth's credentials were refused: a problem of the cluster, not of the tenant.
  unreachable,
  leaving,  // the namespace is terminating, or doesn't exist yet
  refused,  // the API server refuses the object: the tenant has to be told
  busy,     // to be tried again: a conflict, too many requests, or an error of the server
};
Failure meaning_of(const kube::ApiError& error);

// Says which program it is that fails, by the words of an answer with 5xx: an admission webhook,
// the API server's database, or the API server itself.
std::string who_fails(const kube::ApiError& error);

}  // namespace berth::reconcilers
