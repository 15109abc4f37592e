#pragma once

#include <memory>
#include <string>

#include "controller/domain/deployments/exec.h"
#include "reconcilers/cluster/exec.h"
#include "reconcilers/kube/service_account_token.h"
#include "reconcilers/kube/web_socket.h"

namespace berth::reconcilers {

// Sessions in the containers of a Kubernetes cluster, by the subresources pods/exec and
// pods/portforward over WebSockets. berth's own account may use neither: another ServiceAccount
// does, whose tokens live for ten minutes (docs/security.md). Thread-safe; has to outlive its
// sessions.
class KubeExec {
 public:
  // `config` is how berth's own account reaches the cluster; `account` is namespace/name of the
  // other one.
  KubeExec(const kube::Kubeconfig& config, const std::string& account);

  // See exec::Open, whose choice of the container has been made.
  std::unique_ptr<exec::Session> open(const RunningContainer& container,
                                      const exec::Wanted& wanted);

 private:
  // Throws Error.
  kube::Access access();
  std::unique_ptr<kube::WebSocket> connect(const kube::WebSocketRequest& request);

  kube::Client client_;
  kube::ServiceAccountToken token_;
  kube::WebSockets sockets_;
};

}  // namespace berth::reconcilers
