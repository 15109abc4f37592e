// A bare client of the Kubernetes API: creates the objects that berth makes for a number of
// deployments, and waits until they run. tests/kube/scale compares berthd with it.
//
// usage: bench_apply SERVER CA CERTIFICATE KEY INSTANCE IMAGE APPS EACH CONNECTIONS create|apply
// SERVER is https://HOST:PORT; CA, CERTIFICATE and KEY are PEM files. Creates EACH deployments for
// each of APPS apps, in namespaces with INSTANCE as their label: by POST (create), or by
// server-side apply, which costs the API server more. Prints a line of JSON: the seconds until
// everything was written and until everything ran, the number of writes, and bytes sent.
#include <curl/curl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "controller/base/id.h"
#include "manifests/manifests.h"

namespace {

using berth::manifests::Object;
using SteadyClock = std::chrono::steady_clock;

// Of the tier that the script configures for berthd.
constexpr int memory_mb = 64, cpu_millicores = 200;
constexpr std::chrono::minutes patience{15};
constexpr std::chrono::minutes request_limit{1};
constexpr long too_many_requests = 429, conflict = 409;

struct Server {
  std::string url, ca, certificate, key;
};

enum class How { create, apply };

std::string path_of(const Object& object, How how) {
  struct Place {
    const char* kind;
    const char* prefix;
    const char* plural;
  };
  static constexpr std::array places = {
      Place{"Namespace", "/api/v1", "namespaces"},
      Place{"ServiceAccount", "/api/v1", "serviceaccounts"},
      Place{"LimitRange", "/api/v1", "limitranges"},
      Place{"ResourceQuota", "/api/v1", "resourcequotas"},
      Place{"Secret", "/api/v1", "secrets"},
      Place{"Service", "/api/v1", "services"},
      Place{"Deployment", "/apis/apps/v1", "deployments"},
      Place{"Ingress", "/apis/networking.k8s.io/v1", "ingresses"},
      Place{"NetworkPolicy", "/apis/networking.k8s.io/v1", "networkpolicies"}};
  const auto& metadata = object.at("metadata");
  for (const Place& place : places) {
    if (object.at("kind") != place.kind) continue;
    std::string path = place.prefix;
    if (metadata.contains("namespace"))
      path += "/namespaces/" + metadata["namespace"].get<std::string>();
    path += std::string("/") + place.plural;
    if (how == How::create) return path + "?fieldManager=bench";
    return path + "/" + metadata["name"].get<std::string>() + "?fieldManager=bench&force=true";
  }
  throw std::logic_error("no path is known for " + object.dump());
}

// A connection that is kept open.
class Connection {
 public:
  Connection(const Server& server, How how) : server_(server), how_(how), easy_(curl_easy_init()) {
    if (!easy_) throw std::bad_alloc();
    headers_ = curl_slist_append(nullptr, how == How::create
                                              ? "Content-Type: application/json"
                                              : "Content-Type: application/apply-patch+yaml");
    headers_ = curl_slist_append(headers_, "Expect:");
    curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy_, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy_, CURLOPT_CAINFO, server_.ca.c_str());
    curl_easy_setopt(easy_, CURLOPT_SSLCERT, server_.certificate.c_str());
    curl_easy_setopt(easy_, CURLOPT_SSLKEY, server_.key.c_str());
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  }
  ~Connection() {
    curl_easy_cleanup(easy_);
    curl_slist_free_all(headers_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Returns the status. The body is in `answer`.
  long write(const std::string& path, const std::string& body) {
    curl_easy_setopt(easy_, CURLOPT_TIMEOUT, long{std::chrono::seconds(request_limit).count()});
    curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, how_ == How::create ? "POST" : "PATCH");
    curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE, long(body.size()));
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, body.c_str());
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &Connection::keep);
    answer.clear();
    return perform(path);
  }

  // Calls `on_line` for each line of the answer until it returns false or the stream ends.
  void stream(const std::string& path, const std::function<bool(const std::string&)>& on_line) {
    on_line_ = on_line;
    answer.clear();
    curl_easy_setopt(easy_, CURLOPT_TIMEOUT, long{std::chrono::seconds(patience).count()});
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &Connection::split);
    curl_easy_setopt(easy_, CURLOPT_URL, (server_.url + path).c_str());
    const CURLcode result = curl_easy_perform(easy_);
    if (result != CURLE_OK && !stopped_) throw std::runtime_error(curl_easy_strerror(result));
  }

  std::string answer;

 private:
  long perform(const std::string& path) {
    curl_easy_setopt(easy_, CURLOPT_URL, (server_.url + path).c_str());
    const CURLcode result = curl_easy_perform(easy_);
    if (result != CURLE_OK) throw std::runtime_error(curl_easy_strerror(result));
    long code = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &code);
    return code;
  }
  static size_t keep(char* data, size_t, size_t count, void* self) {
    static_cast<Connection*>(self)->answer.append(data, count);
    return count;
  }
  static size_t split(char* data, size_t, size_t count, void* self) {
    auto& connection = *static_cast<Connection*>(self);
    connection.answer.append(data, count);
    for (size_t end; (end = connection.answer.find('\n')) != std::string::npos;) {
      const std::string line = connection.answer.substr(0, end);
      connection.answer.erase(0, end + 1);
      if (connection.on_line_(line)) continue;
      connection.stopped_ = true;
      return 0;
    }
    return count;
  }

  const Server& server_;
  const How how_;
  CURL* easy_;
  curl_slist* headers_ = nullptr;
  std::function<bool(const std::string&)> on_line_;
  bool stopped_ = false;
};

struct Work {
  // Objects of one entry are in the order of application.
  std::vector<std::vector<Object>> tenants, deployments;
};

Work work_for(const std::string& instance, const std::string& image, int apps, int each) {
  const berth::manifests::Settings settings = {.instance = instance,
                                               .apps_domain = "apps.bench",
                                               .ingress_class = "traefik",
                                               .wildcard_tls_secret = {}};
  const berth::Clock clock;
  Work work;
  for (int i = 0; i < apps; ++i) {
    const std::string app = berth::new_uuid(clock.now());
    work.tenants.push_back(
        berth::manifests::of_namespace(app,
                                       {.deployments = each,
                                        .containers = each,
                                        .memory_mb = each * memory_mb,
                                        .cpu_millicores = each * cpu_millicores,
                                        .largest_memory_mb = memory_mb,
                                        .largest_cpu_millicores = cpu_millicores},
                                       settings));
    for (int j = 0; j < each; ++j) {
      berth::deployments::DesiredState state;
      state.deployment.id = berth::new_uuid(clock.now());
      state.deployment.app_id = app;
      state.deployment.name = "bare-" + std::to_string(i) + "-" + std::to_string(j);
      state.deployment.container.image = image;
      state.deployment.container.port = berth::deployments::default_port;
      state.deployment.memory_limit_mb = memory_mb;
      state.deployment.cpu_limit_millicores = cpu_millicores;
      work.deployments.push_back(berth::manifests::of_deployment(state, settings));
    }
  }
  return work;
}

class Bench {
 public:
  Bench(Server server, size_t connections, How how) : server_(std::move(server)), how_(how) {
    for (size_t i = 0; i < connections; ++i)
      connections_.push_back(std::make_unique<Connection>(server_, how_));
  }

  void write_all(const std::vector<std::vector<Object>>& entries) {
    std::atomic<size_t> next = 0;
    std::vector<std::jthread> threads;
    for (const auto& connection : connections_)
      threads.emplace_back([&, raw = connection.get()] {
        for (size_t i; (i = next++) < entries.size();)
          for (const Object& object : entries[i]) write(*raw, object);
      });
  }

  // Waits until this many Deployments have a ready pod.
  void wait_for(size_t count, const std::string& instance) {
    std::unordered_set<std::string> ready;
    Connection watcher(server_, how_);
    const auto take = [&](const std::string& line) {
      const Object event = Object::parse(line);
      const Object& object = event.at("object");
      if (object.at("status").value("readyReplicas", 0) > 0)
        ready.insert(object.at("metadata").at("name").get<std::string>());
      return ready.size() < count;
    };
    // Without a version, the watch begins with all existing objects.
    watcher.stream(
        "/apis/apps/v1/deployments?watch=true&labelSelector=berth%2Finstance%3D" + instance, take);
    if (ready.size() < count) throw std::runtime_error("the watch ended too soon");
  }

  int writes() const { return writes_; }
  size_t bytes() const { return bytes_; }

 private:
  void write(Connection& connection, const Object& object) {
    const std::string path = path_of(object, how_), body = object.dump();
    const auto deadline = SteadyClock::now() + request_limit;
    for (;;) {
      const long status = connection.write(path, body);
      ++writes_;
      bytes_ += body.size();
      if (status == 200 || status == 201) return;
      if ((status != too_many_requests && status != conflict) || SteadyClock::now() > deadline)
        throw std::runtime_error("HTTP " + std::to_string(status) + " " + connection.answer);
    }
  }

  const Server server_;
  const How how_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::atomic<int> writes_ = 0;
  std::atomic<size_t> bytes_ = 0;
};

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc == 11 ? argv[10] : "";
  if (verb != "create" && verb != "apply") {
    std::fputs(
        "usage: bench_apply SERVER CA CERTIFICATE KEY INSTANCE IMAGE APPS EACH CONNECTIONS "
        "create|apply\n",
        stderr);
    return 2;
  }
  const std::string instance = argv[5];
  const Work work = work_for(instance, argv[6], std::stoi(argv[7]), std::stoi(argv[8]));
  Bench bench({argv[1], argv[2], argv[3], argv[4]}, std::stoul(argv[9]),
              verb == "create" ? How::create : How::apply);
  const auto start = SteadyClock::now();
  std::jthread waiter([&] { bench.wait_for(work.deployments.size(), instance); });
  bench.write_all(work.tenants);
  bench.write_all(work.deployments);
  const double written = seconds_since(start);
  waiter.join();
  const Object result = {{"written_s", written},
                         {"running_s", seconds_since(start)},
                         {"writes", bench.writes()},
                         {"bytes", bench.bytes()}};
  std::puts(result.dump().c_str());
  return 0;
}
