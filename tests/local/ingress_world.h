#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "controller/transport/server.h"
#include "reconcilers/embedded/ingress/ingress.h"
#include "tests/listening.h"
#include "tests/temp_dir.h"

// What the tests of Caddy share: a store with deployments as berth makes them, whose containers are
// servers of the test.
namespace berth::embedded::tests {

using namespace std::chrono_literals;

inline bool has_caddy() {
  return std::system("caddy version >/dev/null 2>&1") == 0;  // NOLINT(concurrency-mt-unsafe)
}

// Waits until the condition is true, for 20 seconds at most.
inline bool eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

// A store, and where the containers of its pods are reached.
struct Objects {
  void put(Kind kind, const std::string& name, Json object) {
    const Lock lock(store.mutex());
    object["metadata"]["name"] = name;
    object["metadata"]["namespace"] = name_space;
    if (!object["metadata"].contains("uid")) object["metadata"]["uid"] = name + "-uid";
    store.put({kind, name_space, name}, std::move(object));
  }
  void remove(Kind kind, const std::string& name) {
    const Lock lock(store.mutex());
    store.erase({kind, name_space, name});
  }
  // An Ingress and a Service with the deployment's name, without a pod.
  void deploy(const std::string& name, const std::string& host) {
    put(Kind::services, name,
        {{"spec",
          {{"selector", {{"app", name}}},
           {"ports", Json::array({{{"name", "http"}, {"port", 80}, {"targetPort", "http"}}})}}}});
    put(Kind::ingresses, name,
        {{"spec",
          {{"rules",
            Json::array(
                {{{"host", host},
                  {"http",
                   {{"paths", Json::array({{{"path", "/"},
                                            {"backend",
                                             {{"service",
                                               {{"name", name},
                                                {"port", {{"name", "http"}}}}}}}}})}}}}})}}}});
  }
  // A pod of the deployment, which is reached at the address.
  void run(const std::string& pod, const std::string& deployment, const std::string& address,
           bool ready = true, const std::string& created = "2026-01-01T00:00:00Z") {
    {
      const std::lock_guard lock(mutex);
      addresses[pod] = address;
    }
    Json metadata = {{"labels", {{"app", deployment}}}, {"creationTimestamp", created}};
    put(Kind::pods, pod,
        {{"metadata", metadata},
         {"spec",
          {{"containers", Json::array({{{"name", "app"},
                                        {"ports", Json::array({{{"name", "http"},
                                                                {"containerPort", 8080}}})}}})}}},
         {"status",
          {{"conditions",
            Json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}}}});
  }
  AddressOf address_of() {
    return [this](const Json& pod, int port) -> std::optional<std::string> {
      const std::lock_guard lock(mutex);
      const auto found = addresses.find(name_of(pod));
      if (found == addresses.end() || found->second.empty() || port != 8080) return std::nullopt;
      return found->second;
    };
  }

  std::string name_space = "app-1";
  Store store;
  std::mutex mutex;
  std::map<std::string, std::string> addresses;  // by pod
};

// The ingress controller of a store, as berthd has it.
struct World {
  explicit World(const std::filesystem::path& directory, bool with_https = false,
                 const std::string& acme = "https://127.0.0.1:1/dir", const std::string& ca = "") {
    IngressOptions options{.directory = directory,
                           .http = {"127.0.0.1", 0},
                           .acme_directory = acme,
                           .acme_ca_file = ca};
    if (with_https) options.https = IngressAddress{"127.0.0.1", 0};
    ingress = std::make_unique<Ingress>(options);
  }
  ~World() {
    stop();
    Caddy::end(ingress->settings().admin_socket());
  }
  void start(const ConsoleAddress& console = {{"localhost", "127.0.0.1"},
                                              "http://localhost:8000"}) {
    objects.store.observe([this](const Key& key) { ingress->changed(key); });
    ingress->start(objects.store, objects.address_of(), console);
  }
  // berthd ends, as after SIGTERM.
  void stop() { ingress->stop(); }

  int port() const { return ingress->settings().http.port; }
  httplib::Result get(const std::string& host, const std::string& path = "/") const {
    httplib::Client client("127.0.0.1", port());
    client.set_read_timeout(20s);
    return client.Get(path, {{"Host", host}});
  }
  int status(const std::string& host) const {
    const auto result = get(host);
    return result ? result->status : 0;
  }
  std::string body(const std::string& host) const {
    const auto result = get(host);
    return result ? result->body : "";
  }

  Objects objects;
  std::unique_ptr<Ingress> ingress;
};

// A container: an HTTP server that answers with its name.
struct App {
  explicit App(std::string its_name) : name(std::move(its_name)) {
    server.new_task_queue = [] { return new httplib::ThreadPool(64); };
    server.set_keep_alive_max_count(1'000'000);
    server.Get("/", [this](const httplib::Request&, httplib::Response& response) {
      ++requests;
      response.set_content(name, "text/plain");
    });
    server.Post("/", [this](const httplib::Request& request, httplib::Response& response) {
      ++requests;
      response.set_content(name + " " + std::to_string(request.body.size()), "text/plain");
    });
    listening = std::make_unique<test::Listening>(server);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(listening->port()); }

  const std::string name;
  std::atomic<int> requests = 0;
  httplib::Server server;
  std::unique_ptr<test::Listening> listening;
};

}  // namespace berth::embedded::tests
