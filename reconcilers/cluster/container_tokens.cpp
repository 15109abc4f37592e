#include "reconcilers/cluster/container_tokens.h"

#include <memory>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/jwk.h"
#include "controller/base/log.h"
#include "controller/domain/deployments/deployments.h"
#include "manifests/manifests.h"

namespace berth::reconcilers {
namespace {

// The claim `sub` of a token of a ServiceAccount: system:serviceaccount:NAMESPACE:NAME.
constexpr std::string_view subject_prefix = "system:serviceaccount:";

std::string subject_of(const deployments::Identity& identity) {
  return std::string(subject_prefix) + manifests::namespace_of(identity.app_id) + ":" +
         manifests::object_name(identity.deployment_id);
}

// The id at the end of a text that has to begin with what stands before the id of another one.
std::string id_at_end(std::string_view text) {
  constexpr std::size_t length = 36;  // of a UUID
  return text.size() < length ? "" : std::string(text.substr(text.size() - length));
}

}  // namespace

std::optional<deployments::Identity> ContainerTokens::read(std::string_view token) {
  const auto parsed = jwk::parse(token);
  if (!parsed) return std::nullopt;
  const auto found = parsed->claims.find("sub");
  if (found == parsed->claims.end() || !found->is_string()) return std::nullopt;
  const auto& subject = found->get_ref<const std::string&>();
  const std::size_t colon = subject.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const deployments::Identity identity = {
      .app_id = id_at_end(std::string_view(subject).substr(0, colon)),
      .deployment_id = id_at_end(subject)};
  const bool is_whole = is_uuid(identity.app_id) && is_uuid(identity.deployment_id) &&
                        subject == subject_of(identity);
  return is_whole ? std::optional(identity) : std::nullopt;
}

bool ContainerTokens::prove(const std::string& token) {
  const auto identity = read(token);
  if (!identity) return false;
  Shares::Claim place(places_, Claimant::of_thread());
  if (place.take() != Shares::Taken::yes)
    throw Error(Code::unavailable, "too many tokens are being checked; try again");
  try {
    return ask_(token) == subject_of(*identity);
  } catch (const kube::ApiError& error) {
    log::warning("the cluster doesn't check tokens of containers", {{"error", error.what()}});
    throw Error(Code::unavailable, "the cluster doesn't check the token at present; try again");
  }
}

// A client of its own, because any process may ask, also one that doesn't lead.
ContainerTokens::Ask ask_cluster(const kube::Kubeconfig& config, const std::string& audience) {
  const auto client = std::make_shared<kube::Client>(
      config, kube::ClientOptions{.connect_timeout = ContainerTokens::longest_question,
                                  .request_timeout = ContainerTokens::longest_question,
                                  .max_retries = 0,
                                  .observer = {},
                                  .write_time = {}});
  return [client, audience](const std::string& token) {
    return client->review_token(token, audience);
  };
}

}  // namespace berth::reconcilers
