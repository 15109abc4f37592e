#pragma once

#include <httplib.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/listening.h"

namespace berth::process {

using nlohmann::json;

// Takes webhooks and keeps their bodies.
class WebhookReceiver {
 public:
  WebhookReceiver() {
    server_.Post("/", [this](const httplib::Request& request, httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      response.status = status_;
      if (status_ == 204) received_.push_back(json::parse(request.body));
    });
    listening_.emplace(server_);
  }
  std::string url() const { return "http://localhost:" + std::to_string(listening_->port()) + "/"; }
  // Answers with another status from now on; only 204 keeps what comes.
  void answer(int status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
  }
  std::vector<json> received() {
    const std::lock_guard lock(mutex_);
    return received_;
  }

 private:
  httplib::Server server_;
  std::mutex mutex_;
  std::vector<json> received_;
  int status_ = 204;
  std::optional<test::Listening> listening_;
};

}  // namespace berth::process
