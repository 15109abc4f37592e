#pragma once

#include <httplib.h>

#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/crypto.h"
#include "tests/listening.h"

// A registry of container images on a loopback port, as far as a client reads manifests from it.
namespace berth::registry::test {

inline nlohmann::json layer(const std::string& digest, const nlohmann::json& size) {
  return {{"digest", "sha256:" + digest}, {"size", size}};
}

inline nlohmann::json manifest(const std::vector<nlohmann::json>& layers) {
  return {{"schemaVersion", 2}, {"config", layer("c", 0)}, {"layers", layers}};
}

class Server {
 public:
  using Gate = std::function<bool(const httplib::Request&, httplib::Response&)>;

  Server() {
    server_.Get("/v2/(.+)/manifests/(.+)", [this](const auto& request, auto& response) {
      const std::scoped_lock lock(mutex_);
      const bool is_head = request.method == "HEAD";
      (is_head ? heads_ : asked_).push_back(request.matches[2]);
      if (gate_ && !gate_(request, response)) return;
      const auto found = manifests_.find(request.matches[1].str() + " " + request.matches[2].str());
      response.status = found == manifests_.end() ? 404 : 200;
      if (found == manifests_.end()) return;
      if (states_digests_) response.set_header("Docker-Content-Digest", digest_of(found->second));
      response.set_content(found->second, "application/json");
    });
    server_.Get("/v2/(.+)/blobs/(.+)", [this](const auto& request, auto& response) {
      const std::scoped_lock lock(mutex_);
      blobs_asked_.push_back(request.matches[2]);
      if (gate_ && !gate_(request, response)) return;
      const auto found = blobs_.find(request.matches[2]);
      response.status = found == blobs_.end() ? 404 : 200;
      // A HEAD request gets the length without the bytes.
      if (found != blobs_.end())
        response.set_content_provider(found->second, "application/octet-stream",
                                      [](size_t, size_t, httplib::DataSink&) { return false; });
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
  // Stores a manifest also under its digest, which the registry then states, as real ones do.
  void push(const std::string& repository, const std::string& tag, const nlohmann::json& content) {
    const std::string text = content.dump();
    store(repository, tag, text);
    store(repository, digest_of(text), text);
    const std::scoped_lock lock(mutex_);
    states_digests_ = true;
  }
  static std::string digest_of(const std::string& text) { return "sha256:" + hex(sha256(text)); }
  // The registry has a blob of this many bytes.
  void store_blob(const std::string& digest, size_t bytes) {
    const std::scoped_lock lock(mutex_);
    blobs_["sha256:" + digest] = bytes;
  }
  // `gate` is called before each manifest and each blob is given; if it returns false, it has
  // answered itself.
  void guard(Gate gate) {
    const std::scoped_lock lock(mutex_);
    gate_ = std::move(gate);
  }
  // Another path that is answered. Has to be called before the first request.
  void answer(const std::string& path, httplib::Server::Handler handler) {
    server_.Get(path, std::move(handler));
  }
  // The references whose manifests were asked for.
  std::vector<std::string> asked() const { return copy(asked_); }
  // Those that were asked for with HEAD, which registries don't count as pulls.
  std::vector<std::string> heads() const { return copy(heads_); }
  std::vector<std::string> blobs_asked() const { return copy(blobs_asked_); }

 private:
  std::vector<std::string> copy(const std::vector<std::string>& list) const {
    const std::scoped_lock lock(mutex_);
    return list;
  }

  httplib::Server server_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> manifests_;
  std::map<std::string, size_t> blobs_;
  bool states_digests_ = false;
  std::vector<std::string> asked_;
  std::vector<std::string> heads_;
  std::vector<std::string> blobs_asked_;
  Gate gate_;
  std::optional<berth::test::Listening> listening_;
};

}  // namespace berth::registry::test
