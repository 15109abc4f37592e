#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "reconcilers/kube/exec_plugin.h"
#include "reconcilers/kube/files.h"
#include "reconcilers/kube/kubeconfig.h"

namespace berth::kube {

// What a request presents to the API server, and what it verifies the server with.
struct Access {
  std::string authorization;                    // the header's value; empty: no header
  std::string certificate, key;                 // PEM; empty: none
  std::string ca;                               // PEM; empty: the system's certificates
  std::vector<std::string> impersonation = {};  // header fields
  std::uint64_t generation = 0;                 // counts how often the sources were read
};

// The credentials of a kubeconfig, kept up to date. They take precedence as in client-go: tokenFile
// before token before basic authentication before the exec plugin, and data before files.
// Thread-safe.
class Credentials {
 public:
  explicit Credentials(const Kubeconfig& config);

  // The credentials that are valid now. Runs the exec plugin if its last answer has expired; one
  // caller does so while the others wait. Throws std::runtime_error if there are no credentials: a
  // file is gone, the plugin fails, or `stop` is requested meanwhile.
  Access now(const std::stop_token& stop);
  // Reports that the API server answered 401 to `shown`. The next now() reads everything again,
  // unless that has already happened since.
  void refused(const Access& shown);

 private:
  struct Source {  // PEM text from the kubeconfig itself or from a file that it names
    std::optional<std::string> data;
    std::optional<RotatingFile> file;
    std::string text();
  };
  void run_exec(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  void use_exec(Access& access, std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  std::string bearer_or_basic();

  const std::optional<ExecPlugin> exec_;
  const std::optional<std::string> token_;
  const std::string username_, password_;
  std::vector<std::string> impersonation_;

  std::mutex mutex_;
  std::condition_variable_any plugin_done_;
  bool plugin_runs_ = false;
  std::uint64_t generation_ = 1;
  Source ca_, certificate_, key_;
  std::optional<RotatingFile> token_file_;
  std::optional<ExecCredential> exec_credential_;
  std::exception_ptr exec_failure_;  // why the last run failed, if it did
  std::chrono::steady_clock::time_point exec_failed_at_;
};

}  // namespace berth::kube
