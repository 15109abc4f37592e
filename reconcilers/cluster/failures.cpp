#include "reconcilers/cluster/failures.h"

#include <algorithm>
#include <array>
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

std::string who_fails(const kube::ApiError& error) {
  const std::string_view message = error.what();
  // The messages of the API server's admission plugins (k8s.io/apiserver, plugin/webhook) for a
  // webhook that doesn't answer and for one that answers with an error.
  constexpr std::array of_webhook =
      std::to_array<std::string_view>({"failed calling webhook \"", "admission webhook \""});
  for (const std::string_view words : of_webhook)
    if (const size_t at = message.find(words); at != std::string_view::npos) {
      const std::string_view rest = message.substr(at + words.size());
      return "the admission webhook " + std::string(rest.substr(0, rest.find('"')));
    }
  // These are messages of etcd's client.
  constexpr std::array of_etcd = {"etcdserver:", "etcd", "rpc error: code ="};
  if (std::ranges::any_of(of_etcd, [&](const char* words) { return message.contains(words); }))
    return "the Kubernetes API server's database (etcd)";
  return "the Kubernetes API server";
}

}  // namespace berth::reconcilers
