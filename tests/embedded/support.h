#pragma once

#include <httplib.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "reconcilers/embedded/cluster.h"

// What the tests of the simulated cluster share. They talk to it over HTTP, as berth does.
namespace berth::embedded::tests {

struct Answer {
  int status;
  Json body;  // null if it isn't JSON
  std::string text;
};

inline Options at_once() {
  Options options;
  options.timing = Timing::instant();
  return options;
}

// A cluster with the namespace `apps`, and a client.
class World {
 public:
  explicit World(Options options = at_once()) : cluster(options) {
    cluster.put(
        Json{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "apps"}}}});
    wait([&] { return cluster.get("serviceaccounts", "apps", "default").has_value(); });
  }

  Answer get(const std::string& path) const { return answer(client().Get(path)); }
  Answer post(const std::string& path, const Json& body) const {
    return answer(client().Post(path, body.dump(), "application/json"));
  }
  Answer put(const std::string& path, const Json& body) const {
    return answer(client().Put(path, body.dump(), "application/json"));
  }
  Answer patch(const std::string& path, const std::string& body, const std::string& type) const {
    return answer(client().Patch(path, body, type));
  }
  Answer merge(const std::string& path, const Json& body) const {
    return patch(path, body.dump(), "application/merge-patch+json");
  }
  Answer apply(const std::string& path, const Json& body, const std::string& manager = "berth",
               const std::string& force = "true") const {
    return patch(path + "?fieldManager=" + manager + "&force=" + force, body.dump(),
                 "application/apply-patch+yaml");
  }
  Answer remove(const std::string& path, const Json& options = nullptr) const {
    const std::string body = options.is_null() ? "" : options.dump();
    return answer(client().Delete(path, body, "application/json"));
  }

  httplib::Client client() const {
    httplib::Client made(cluster.url());
    made.set_read_timeout(30);
    return made;
  }

  // Waits until the condition is true, for ten seconds at most.
  static bool wait(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

  Cluster cluster;

 private:
  static Answer answer(const httplib::Result& result) {
    if (!result) return {0, nullptr, httplib::to_string(result.error())};
    Json body = Json::parse(result->body, nullptr, false);
    if (body.is_discarded()) body = nullptr;
    return {result->status, std::move(body), result->body};
  }
};

// A watch that is read on its own thread.
class Watcher {
 public:
  Watcher(const Cluster& cluster, const std::string& path) : client_(cluster.url()) {
    client_.set_read_timeout(30);
    thread_ = std::thread([this, path] {
      std::string rest;
      const auto result = client_.Get(path, [&](const char* data, size_t size) {
        rest.append(data, size);
        for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
          const std::lock_guard lock(mutex_);
          events_.push_back(Json::parse(rest.substr(0, end)));
          rest.erase(0, end + 1);
        }
        return true;
      });
      const std::lock_guard lock(mutex_);
      ended_ = true;
      clean_ = static_cast<bool>(result);
    });
  }
  ~Watcher() {
    client_.stop();
    thread_.join();
  }

  std::vector<Json> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  // Returns "ADDED web" and so on, in order, without bookmarks.
  std::vector<std::string> seen() const {
    std::vector<std::string> lines;
    for (const Json& event : events())
      if (event["type"] != "BOOKMARK" && event["type"] != "ERROR")
        lines.push_back(event["type"].get<std::string>() + " " + name_of(event["object"]));
    return lines;
  }
  bool ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  bool ended_cleanly() const {
    const std::lock_guard lock(mutex_);
    return ended_ && clean_;
  }

 private:
  httplib::Client client_;
  mutable std::mutex mutex_;
  std::vector<Json> events_;
  bool ended_ = false;
  bool clean_ = false;
  std::thread thread_;
};

inline const std::string deployments = "/apis/apps/v1/namespaces/apps/deployments";
inline const std::string replica_sets = "/apis/apps/v1/namespaces/apps/replicasets";
inline const std::string ingresses = "/apis/networking.k8s.io/v1/namespaces/apps/ingresses";
inline const std::string core = "/api/v1/namespaces/apps/";

inline Json config_map(const std::string& name, const Json& data = {{"a", "1"}},
                       const Json& labels = nullptr) {
  Json object{
      {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}, {"data", data}};
  if (!labels.is_null()) object["metadata"]["labels"] = labels;
  return object;
}

inline Json container(const std::string& image = "nginx:1.27") {
  return {{"name", "web"},
          {"image", image},
          {"ports", {{{"containerPort", 8080}}}},
          {"readinessProbe", {{"tcpSocket", {{"port", 8080}}}}},
          {"terminationMessagePolicy", "FallbackToLogsOnError"}};
}

inline Json deployment(const std::string& name, const std::string& image = "nginx:1.27",
                       int replicas = 1) {
  const Json labels{{"app", name}};
  return {
      {"apiVersion", "apps/v1"},
      {"kind", "Deployment"},
      {"metadata", {{"name", name}}},
      {"spec",
       {{"replicas", replicas},
        {"selector", {{"matchLabels", labels}}},
        {"strategy", {{"rollingUpdate", {{"maxSurge", 1}, {"maxUnavailable", 0}}}}},
        {"template",
         {{"metadata", {{"labels", labels}}}, {"spec", {{"containers", {container(image)}}}}}}}}};
}

inline Json service(const std::string& name) {
  return {
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"metadata", {{"name", name}}},
      {"spec", {{"selector", {{"app", name}}}, {"ports", {{{"port", 80}, {"targetPort", 8080}}}}}}};
}

inline Json ingress(const std::string& name, const std::string& host) {
  const Json backend{{"service", {{"name", name}, {"port", {{"number", 80}}}}}};
  const Json path{{"path", "/"}, {"pathType", "Prefix"}, {"backend", backend}};
  return {{"apiVersion", "networking.k8s.io/v1"},
          {"kind", "Ingress"},
          {"metadata", {{"name", name}}},
          {"spec", {{"rules", {{{"host", host}, {"http", {{"paths", {path}}}}}}}}}};
}

inline std::vector<std::string> names(const Json& list) {
  std::vector<std::string> found;
  for (const Json& item : list["items"]) found.push_back(name_of(item));
  return found;
}

inline const Json& condition(const Json& object, const std::string& type) {
  static const Json none = Json::object();
  if (!object.contains("status") || !object["status"].contains("conditions")) return none;
  for (const Json& one : object["status"]["conditions"])
    if (one["type"] == type) return one;
  return none;
}

}  // namespace berth::embedded::tests
