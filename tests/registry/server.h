#pragma once

#include <httplib.h>

#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/listening.h"

// A registry of container images on a loopback port, as far as a client reads manifests from it.
namespace berth::registry::test {

inline nlohmann::json layer(const std::string& digest, const nlohmann::json& size) {
  return {{"digest", "sha256:" + digest}, {"size", size}};
}

inline nlohmann::json manifest(const std::vector<nlohmann::json>& layers) {
  return {{"schemaVersion", 2}, {"config", layer("c", 1'000)}, {"layers", layers}};
}

class Server {
 public:
  using Gate = std::function<bool(const httplib::Request&, httplib::Response&)>;

  Server() {
    server_.Get("/v2/(.+)/manifests/(.+)", [this](const auto& request, auto& response) {
      const std::scoped_lock lock(mutex_);
      asked_.push_back(request.matches[2]);
      if (gate_ && !gate_(request, response)) return;
      const auto found = manifests_.find(request.matches[1].str() + " " + request.matches[2].str());
      response.status = found == manifests_.end() ? 404 : 200;
      if (found != manifests_.end()) response.set_content(found->second, "application/json");
    });
    listening_.emplace(server_);
  }

  std::string host() const { return "127.0.0.1:" + std::to_string(listening_->port()); }
  std::string url() const { return "http://" + host(); }
  void store(const std::string& repository, const std::string& reference, const std::string& text) {
    const std::scoped_lock lock(mutex_);
    manifests_[repository + " " + reference] = text;
  }
  void store(const std::string& repository, const std::string& reference,
             const nlohmann::json& content) {
    store(repository, reference, content.dump());
  }
  // `gate` is called before each manifest is given; if it returns false, it has answered itself.
  void guard(Gate gate) {
    const std::scoped_lock lock(mutex_);
    gate_ = std::move(gate);
  }
  // Another path that is answered. Has to be called before the first request.
  void answer(const std::string& path, httplib::Server::Handler handler) {
    server_.Get(path, std::move(handler));
  }
  // The references that were asked for.
  std::vector<std::string> asked() const {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

 private:
  httplib::Server server_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> manifests_;
  std::vector<std::string> asked_;
  Gate gate_;
  std::optional<berth::test::Listening> listening_;
};

}  // namespace berth::registry::test
