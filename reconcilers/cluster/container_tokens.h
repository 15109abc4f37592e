#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/shares.h"
#include "controller/domain/deployments/identity.h"
#include "reconcilers/kube/client.h"

namespace berth::reconcilers {

// The tokens by which containers prove which deployment they are of: those of ServiceAccounts,
// which the cluster signs and checks, also whether their pods still exist (kubernetes.io,
// "TokenReview"). Thread-safe.
class ContainerTokens {
 public:
  // How many requests may wait for the cluster, which keeps each from handling something else.
  static constexpr std::size_t max_waiting = 8;

  // Returns the name of the user whose token it is; nothing if the cluster doesn't accept it.
  // Throws kube::ApiError.
  using Ask = std::function<std::optional<std::string>(const std::string& token)>;
  explicit ContainerTokens(Ask ask) : ask_(std::move(ask)) {}

  // Returns what the token says, before anybody is asked; nothing if it isn't one of a deployment's
  // containers.
  static std::optional<deployments::Identity> read(std::string_view token);
  // Whether the cluster says the same. It may take `longest_question`, so no transaction may be
  // open. Throws Error `unavailable` if the cluster doesn't answer, or too many requests wait for
  // it.
  bool prove(const std::string& token);

  static constexpr std::chrono::seconds longest_question{5};

 private:
  const Ask ask_;
  Shares places_{Pool::token_reviews, max_waiting};
};

// Asks the API server, as the account that `config` is for, about tokens for this audience.
ContainerTokens::Ask ask_cluster(const kube::Kubeconfig& config, const std::string& audience);

}  // namespace berth::reconcilers
