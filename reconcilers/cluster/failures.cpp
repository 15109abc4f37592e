#include "reconcilers/cluster/failures.h"

#include <string_view>

namespace berth::reconcilers {

Failure meaning_of(const kube::ApiError& error) {
  const std::string_view message = error.what();
  switch (error.status) {
    case 0:
    case 401:
      return Failure::unreachable;
    case 403:
      // The API server's NamespaceLifecycle admission plugin uses no reason of its own for this
      // case (k8s.io/apiserver).
      if (message.find("being terminated") != std::string_view::npos) return Failure::leaving;
      return Failure::refused;
    case 404:
      return Failure::leaving;
    case 408:
    case 409:
    case 410:
    case 429:
      return Failure::busy;
    default:
      return error.status >= 400 && error.status < 500 ? Failure::refused : Failure::busy;
  }
}

}  // namespace berth::reconcilers
