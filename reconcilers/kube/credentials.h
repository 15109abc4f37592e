#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "reconcilers/kube/exec_plugin.h"
#include "reconcilers/kube/files.h"
#include "reconcilers/kube/kubeconfig.h"

namespace berth::kube {

// What one request shows to the API server, and what it checks the server against.
struct Access {
  std::string authorization;     // the header's value; empty: none
  std::string certificate, key;  // PEM; empty: none
  std::string ca;                // PEM; empty: the system's
  std::uint64_t generation = 0;  // which reading of the sources this is
};

// The credentials of a kubeconfig, kept fresh. Precedence is client-go's: tokenFile before token
// before basic authentication before the exec plugin, data before files. Thread-safe.
class Credentials {
 public:
  explicit Credentials(const Kubeconfig& config);

  // What holds now. Runs the exec plugin where its last answer has expired: one caller does, the
  // others wait for it. Throws std::runtime_error where there is nothing to show (a file is gone,
  // the plugin fails, `stop` is requested meanwhile).
  Access now(const std::stop_token& stop);
  // The API server answered 401 to `shown`: the next now() reads everything again, unless that has
  // happened since.
  void refused(const Access& shown);

 private:
  struct Source {  // PEM out of the kubeconfig itself, or out of a file beside it
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

  std::mutex mutex_;
  std::condition_variable_any plugin_done_;
  bool plugin_runs_ = false;
  std::uint64_t generation_ = 1;
  Source ca_, certificate_, key_;
  std::optional<RotatingFile> token_file_;
  std::optional<ExecCredential> exec_credential_;
  std::exception_ptr exec_failure_;  // of the last run, where that failed
  std::chrono::steady_clock::time_point exec_failed_at_;
};

}  // namespace berth::kube
