#include "reconcilers/kube/service_account_token.h"

#include "controller/base/clock.h"

namespace berth::kube {
namespace {

Kubeconfig without_user(Kubeconfig config) {
  Kubeconfig plain;
  plain.server = std::move(config.server);
  plain.ca_data = std::move(config.ca_data);
  plain.ca_file = std::move(config.ca_file);
  return plain;
}

}  // namespace

ServiceAccountToken::ServiceAccountToken(Client& client, const Kubeconfig& config,
                                         std::string name_space, std::string account)
    : client_(client),
      authorities_(without_user(config)),
      name_space_(std::move(name_space)),
      account_(std::move(account)) {}

Access ServiceAccountToken::now() {
  Access access = authorities_.now({});
  std::unique_lock lock(mutex_);
  while (true) {
    if (!under_way_) {
      if (!token_ || token_->expires - system_time() < renewal) renew(lock);
      break;
    }
    const std::uint64_t before = finished_;
    done_.wait(lock, [&] { return finished_ != before; });
    if (is_valid()) break;
    // If each of those who wait tried again by themselves, one after the other, the last one would
    // wait for a server that doesn't answer as often as there are callers.
    if (failure_) std::rethrow_exception(failure_);
  }
  access.authorization = "Bearer " + token_->token;
  return access;
}

bool ServiceAccountToken::is_valid() const { return token_ && token_->expires > system_time(); }

// Unlocks meanwhile.
void ServiceAccountToken::renew(std::unique_lock<std::mutex>& lock) {
  under_way_ = true;
  lock.unlock();
  std::optional<IssuedToken> issued;
  std::exception_ptr failure;
  try {
    issued = client_.request_token(name_space_, account_, life);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  under_way_ = false;
  ++finished_;
  failure_ = failure;
  if (issued) token_ = std::move(issued);
  done_.notify_all();
  if (failure && !is_valid()) std::rethrow_exception(failure);
}

void ServiceAccountToken::refused(const Access& shown) {
  const std::lock_guard lock(mutex_);
  if (token_ && shown.authorization == "Bearer " + token_->token) token_.reset();
}

}  // namespace berth::kube
