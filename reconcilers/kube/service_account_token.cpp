#include "reconcilers/kube/service_account_token.h"

#include <exception>

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
  done_.wait(lock, [this] { return !under_way_; });
  if (!token_ || token_->expires - system_time() < renewal) {
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
    done_.notify_all();
    if (issued) token_ = std::move(issued);
    if (failure && (!token_ || token_->expires <= system_time())) std::rethrow_exception(failure);
  }
  access.authorization = "Bearer " + token_->token;
  return access;
}

void ServiceAccountToken::refused(const Access& shown) {
  const std::lock_guard lock(mutex_);
  if (token_ && shown.authorization == "Bearer " + token_->token) token_.reset();
}

}  // namespace berth::kube
