#pragma once

#include <httplib.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "reconcilers/kube/client.h"
#include "tests/listening.h"

// An HTTP server on a loopback port whose answers a test decides. It records what it was asked.
class ApiServer {
 public:
  using Handler = std::function<void(const httplib::Request&, httplib::Response&)>;

  explicit ApiServer(Handler handler,
                     std::unique_ptr<httplib::Server> server = std::make_unique<httplib::Server>())
      : server_(std::move(server)) {
    const auto answer = [this, handler](const httplib::Request& request,
                                        httplib::Response& response) {
      {
        const std::scoped_lock lock(mutex_);
        seen_.push_back(request);
      }
      handler(request, response);
    };
    server_->Get(".*", answer).Post(".*", answer).Put(".*", answer).Patch(".*", answer);
    server_->Delete(".*", answer);
    server_->set_keep_alive_timeout(1);
    server_->set_tcp_nodelay(true);
    listening_.emplace(*server_);
  }

  int port() const { return listening_->port(); }
  berth::kube::Kubeconfig config(const std::string& scheme = "http") const {
    berth::kube::Kubeconfig config;
    config.server = scheme + "://127.0.0.1:" + std::to_string(port());
    return config;
  }
  std::vector<httplib::Request> seen() const {
    const std::scoped_lock lock(mutex_);
    return seen_;
  }

 private:
  std::unique_ptr<httplib::Server> server_;
  mutable std::mutex mutex_;
  std::vector<httplib::Request> seen_;
  std::optional<berth::test::Listening> listening_;
};

inline void answer_json(httplib::Response& response, const nlohmann::json& body, int status = 200) {
  response.status = status;
  response.set_content(body.dump(), "application/json");
}

inline nlohmann::json status_object(int code, const std::string& reason,
                                    const std::string& message) {
  return {{"kind", "Status"},   {"apiVersion", "v1"}, {"status", "Failure"},
          {"message", message}, {"reason", reason},   {"code", code}};
}

inline void refuse(httplib::Response& response, int code, const std::string& reason,
                   const std::string& message = "no") {
  answer_json(response, status_object(code, reason, message), code);
}

// Waits until the condition is true. Returns false after a generous time.
inline bool comes_true(const std::function<bool()>& condition,
                       std::chrono::seconds patience = std::chrono::seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Returns the ApiError that `action` throws; one with the status -1 if it throws none.
inline berth::kube::ApiError error_from(const std::function<void()>& action) {
  try {
    action();
  } catch (const berth::kube::ApiError& error) {
    return error;
  }
  return {-1, "", "no error"};
}
