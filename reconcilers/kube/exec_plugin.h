#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "controller/base/clock.h"
#include "reconcilers/kube/kubeconfig.h"

namespace berth::kube {

// What an exec plugin returned: a token, a client certificate with its key, or both.
struct ExecCredential {
  std::string token;
  std::string certificate, key;    // PEM
  std::optional<Instant> expires;  // empty: valid until the API server refuses it
};

// Runs the plugin and parses its output (kubernetes.io, "Authenticating", "client-go credential
// plugins"). Takes up to 30 seconds. Throws std::runtime_error with a message that names the
// command and the problem, and never quotes the output.
ExecCredential run_exec_plugin(const ExecPlugin& plugin, const std::stop_token& stop);

}  // namespace berth::kube
