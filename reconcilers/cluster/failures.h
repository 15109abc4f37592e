#pragma once

#include "reconcilers/kube/client.h"

namespace berth::reconcilers {

// What a failed call means for the loop.
enum class Failure {
  unreachable,  // nobody answers, or nobody knows us: the cluster's trouble, not the tenant's
  leaving,      // the namespace is on its way out, or isn't there yet
  refused,      // the API server doesn't take the object: the tenant has to know
  busy,         // try again: conflict, too many requests, a fault of the server
};
Failure meaning_of(const kube::ApiError& error);

}  // namespace berth::reconcilers
