#include "reconcilers/kube/credentials.h"

#include <algorithm>
#include <stdexcept>

#include "controller/base/crypto.h"

namespace berth::kube {
namespace {

// Callers who waited for a plugin that failed share its failure. If each of them ran the plugin
// again, one after the other, that would take many times the plugin's time-out.
constexpr std::chrono::seconds shared_failure{1};

std::string without_line_ends(const std::string& text) {
  constexpr const char* blank = " \t\r\n";
  const size_t first = text.find_first_not_of(blank);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// A line break in a token would add further headers.
std::string bearer(const std::string& token) {
  const std::string text = without_line_ends(token);
  const bool printable =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
  if (text.empty() || !printable)
    throw std::runtime_error("the token for the API server is empty or malformed");
  return "Bearer " + text;
}

std::optional<RotatingFile> rotating(const std::optional<std::filesystem::path>& file) {
  return file ? std::optional<RotatingFile>(*file) : std::nullopt;
}

}  // namespace

std::string Credentials::Source::text() {
  if (data) return *data;
  return file ? file->text() : "";
}

Credentials::Credentials(const Kubeconfig& config)
    : exec_(config.exec),
      token_(config.token),
      username_(config.username),
      password_(config.password),
      ca_{config.ca_data, rotating(config.ca_file)},
      certificate_{config.client_certificate_data, rotating(config.client_certificate_file)},
      key_{config.client_key_data, rotating(config.client_key_file)},
      token_file_(rotating(config.token_file)) {
  for (const auto& [name, value] : config.impersonation)
    impersonation_.push_back(name + ": " + value);
}

std::string Credentials::bearer_or_basic() {
  if (token_file_) return bearer(token_file_->text());
  if (token_) return bearer(*token_);
  if (!username_.empty()) return "Basic " + base64(username_ + ":" + password_);
  return "";
}

Access Credentials::now(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  Access access;
  access.authorization = bearer_or_basic();
  access.certificate = certificate_.text();
  access.key = key_.text();
  access.ca = ca_.text();
  access.impersonation = impersonation_;
  access.generation = generation_;
  if (exec_ && access.authorization.empty()) use_exec(access, lock, stop);
  return access;
}

// Runs the plugin without holding the lock, so that other callers can wait for it and still be
// stopped.
void Credentials::run_exec(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
  exec_credential_.reset();
  exec_failure_ = nullptr;
  plugin_runs_ = true;
  lock.unlock();
  std::optional<ExecCredential> credential;
  std::exception_ptr failure;
  try {
    credential = run_exec_plugin(*exec_, stop);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  plugin_runs_ = false;
  plugin_done_.notify_all();
  if (failure) {
    // If this caller was stopped, the plugin didn't fail.
    if (!stop.stop_requested()) exec_failure_ = failure;
    exec_failed_at_ = std::chrono::steady_clock::now();
    std::rethrow_exception(failure);
  }
  exec_credential_ = std::move(credential);
  ++generation_;
}

void Credentials::use_exec(Access& access, std::unique_lock<std::mutex>& lock,
                           const std::stop_token& stop) {
  plugin_done_.wait(lock, stop, [&] { return !plugin_runs_; });
  if (stop.stop_requested()) throw std::runtime_error("stopped while waiting for credentials");
  const auto since_failure = std::chrono::steady_clock::now() - exec_failed_at_;
  if (exec_failure_ && since_failure < shared_failure) std::rethrow_exception(exec_failure_);
  const bool fresh = exec_credential_ &&
                     (!exec_credential_->expires || system_time() < *exec_credential_->expires);
  if (!fresh) run_exec(lock, stop);
  access.generation = generation_;
  if (!exec_credential_->token.empty()) access.authorization = bearer(exec_credential_->token);
  if (access.certificate.empty()) {
    access.certificate = exec_credential_->certificate;
    access.key = exec_credential_->key;
  }
}

void Credentials::refused(const Access& shown) {
  const std::scoped_lock lock(mutex_);
  if (shown.generation != generation_) return;
  ++generation_;
  for (Source* source : {&ca_, &certificate_, &key_})
    if (source->file) source->file->forget();
  if (token_file_) token_file_->forget();
  exec_credential_.reset();
}

}  // namespace berth::kube
