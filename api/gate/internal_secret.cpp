#include "api/gate/internal_secret.h"

#include "controller/base/crypto.h"
#include "controller/base/error.h"

namespace berth::api {
namespace {

SecurityEvent rejected(std::string_view reason) {
  return {.kind = SecurityKind::internal_secret_rejected, .reason = reason};
}

}  // namespace

InternalSecret::InternalSecret(const std::string& secret, bool limited,
                               const std::vector<internal_secrets::Configured>& named)
    : limited_(limited) {
  if (!secret.empty()) secrets_.push_back({.name = "", .hash = sha256(secret)});
  for (const internal_secrets::Configured& one : named)
    secrets_.push_back({.name = one.name, .hash = sha256(one.secret)});
}

std::optional<std::string> InternalSecret::name_of(std::string_view shown) const {
  // Compares hashes, which all have the same length, so that the time doesn't depend on the length
  // of the secret.
  const std::string hash = sha256(shown);
  for (const Hashed& secret : secrets_)
    if (equal_in_constant_time(hash, secret.hash)) return secret.name;
  return std::nullopt;
}

void InternalSecret::refuse(std::string_view shown, const std::string& network,
                            RateLimiter::Time now) {
  const Error forbidden(Code::forbidden, "this is for admins of the platform only");
  if (shown.empty()) throw forbidden;
  if (limited_) {
    auto verdict = by_network_.take(network, wrong_of_network, now);
    if (verdict.allowed) verdict = overall_.take("", wrong_of_all, now);
    if (!verdict.allowed) {
      Error refusal(Code::rate_limited, "too many wrong secrets; try again later");
      refusal.retry_after = verdict.reset;
      throw with_event(refusal, rejected("throttled"));
    }
  }
  throw with_event(forbidden, rejected("wrong"));
}

}  // namespace berth::api
