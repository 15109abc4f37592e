#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include "reconcilers/kube/client.h"
#include "reconcilers/kube/credentials.h"

namespace berth::kube {

// Tokens of another ServiceAccount, for connections that the client's own account may not make.
// Thread-safe.
class ServiceAccountToken {
 public:
  // How long a token is valid; the API server grants none for less.
  static constexpr std::chrono::seconds life{600};
  // A token with less than this left is renewed when it is asked for.
  static constexpr std::chrono::seconds renewal{180};

  // `config` says how the API server is reached and verified; its credentials aren't used.
  ServiceAccountToken(Client& client, const Kubeconfig& config, std::string name_space,
                      std::string account);

  // What a connection presents: a token that is valid for a while, and nothing else of the
  // kubeconfig's user. Requests a token if needed; one caller does so while the others wait. If
  // that fails, the previous token is used as long as it is valid; without one, those who have
  // waited get the same error. Throws ApiError, or std::runtime_error if the file of the
  // authorities can't be read.
  Access now();
  // The API server has refused this token (401): now() requests a new one.
  void refused(const Access& shown);

 private:
  bool is_valid() const;
  void renew(std::unique_lock<std::mutex>& lock);

  Client& client_;
  Credentials authorities_;
  const std::string name_space_, account_;
  std::mutex mutex_;
  std::condition_variable done_;
  bool under_way_ = false;
  std::uint64_t finished_ = 0;  // the number of requests that have come to an end
  std::exception_ptr failure_;  // of the last one; null if it gave a token
  std::optional<IssuedToken> token_;
};

}  // namespace berth::kube
