#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::kube {

// How a command in a container ended, as the API server says on channel 3 of a connection for
// pods/exec with the subprotocols v4 and v5 (kubernetes/design-proposals-archive, "Container
// Runtime Interface Streaming"; k8s.io/apimachinery/pkg/util/remotecommand).
struct ExecStatus {
  bool succeeded = false;
  std::optional<int> exit_code;  // of a command that ran; 0 if it succeeded
  std::string message;           // the cluster's words for a failure
};

// Reads the Status object. Returns nothing if the text isn't one. Takes anything: the text comes
// from the cluster.
std::optional<ExecStatus> parse_exec_status(std::string_view text);

}  // namespace berth::kube
