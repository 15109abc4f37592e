#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "reconcilers/embedded/node/podman/runtime.h"
#include "reconcilers/embedded/node/unix_http.h"
#include "tests/temp_dir.h"

namespace berth::test {

extern const char* const local_app;  // the static program of tests/local/image/app.c

// Why podman can't run containers here; empty if it can.
const std::string& no_podman();

// Ends the test case with a sentence if podman can't run.
#define NEEDS_PODMAN                                                     \
  if (!berth::test::no_podman().empty()) {                               \
    WARN("skipped: podman can't run here: " + berth::test::no_podman()); \
    return;                                                              \
  }

// A node of its own, in a directory of its own; at its end nothing is left of it.
class Node {
 public:
  explicit Node(std::vector<int> public_ports = {80, 443});
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  embedded::Runtime& runtime() { return *runtime_; }
  bool lives() const { return runtime_ != nullptr; }
  const std::filesystem::path& directory() const { return options_.directory; }
  const embedded::podman::RuntimeOptions& options() const { return options_; }
  // Calls podman's API. The target begins behind `/v4.0.0/libpod`.
  embedded::UnixAnswer podman(const std::string& method, const std::string& target,
                              const std::string& body = "");
  // Destroys the runtime, as the end of berthd does.
  void end();
  // Makes another one for the same directory. Returns the runs that it found.
  std::vector<embedded::Run> begin_again();
  // Removes everything; the node can't be used afterwards.
  void clean();

  // Imports the program as an image `localhost/test/NAME:1` that runs it with these arguments.
  std::string image(const std::string& name, const std::vector<std::string>& arguments);

  // Waits until `holds`, which is tried whenever the runtime wakes the kubelet. Returns whether it
  // came to hold.
  bool wait(const std::function<bool()>& holds,
            std::chrono::milliseconds patience = std::chrono::seconds(30));

 private:
  void begin();

  TempDir dir_;
  embedded::podman::RuntimeOptions options_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::unique_ptr<embedded::Runtime> runtime_;
  std::set<std::string> images_;
  bool cleaned_ = false;
};

// A pod with one container `app`, as berth's manifests make it.
class Pod {
 public:
  Pod(Node& node, const std::string& name, const std::string& image,
      const std::string& name_space = "berth-app-one");
  ~Pod();
  Pod(const Pod&) = delete;
  Pod& operator=(const Pod&) = delete;

  nlohmann::json& json() { return pod_; }
  nlohmann::json& spec() { return pod_["spec"]["containers"][0]; }
  std::map<std::string, std::string>& env() { return env_; }
  embedded::Run run(int number = 0) const;

  void begin(int number = 0);  // to start
  // Pulls the image and starts the run. Returns how the run stands once it isn't starting any more.
  embedded::RunState start(int number = 0);
  embedded::Pull pull(int number = 0, embedded::PullPolicy policy = embedded::PullPolicy::always,
                      const std::vector<embedded::RegistryLogin>& logins = {});
  embedded::RunState state(int number = 0);
  bool wait_for(embedded::RunState::Stage stage, int number = 0);
  embedded::ProbeResult probe(const nlohmann::json& probe,
                              std::chrono::milliseconds patience = std::chrono::seconds(5),
                              std::chrono::milliseconds timeout = std::chrono::seconds(10));
  // The body of the answer to GET at port 8080; throws std::runtime_error.
  std::string get(const std::string& path, int number = 0);
  std::string log(int number = 0, std::optional<std::uint64_t> tail = std::nullopt);
  void stay() { stays_ = true; }  // isn't removed at the end of this object

 private:
  Node& node_;
  nlohmann::json pod_;
  std::map<std::string, std::string> env_;
  bool stays_ = false;
};

// The body of an answer of HTTP/1.1 from this address; throws std::runtime_error.
std::string http_get(const std::string& address, const std::string& path,
                     std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace berth::test
