#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>
#include <string>

#include "controller/base/crypto.h"
#include "reconcilers/embedded/cluster.h"
#include "tests/kube_client/api_server.h"

// The cluster of BERTH_TEST_KUBECONFIG or a simulated one, a client of it, and a namespace of the
// test's own. What tests check with it holds for both.
class AnyCluster {
 public:
  explicit AnyCluster(const nlohmann::json& labels = nlohmann::json::object())
      : client(config()), name_space("berth-test-" + berth::hex(berth::random_bytes(6))) {
    client.create({{"apiVersion", "v1"},
                   {"kind", "Namespace"},
                   {"metadata", {{"name", name_space}, {"labels", labels}}}});
    // No pod is admitted before the service account exists.
    REQUIRE(comes_true([&] {
      return client.get(berth::kube::service_accounts, name_space, "default").has_value();
    }));
  }
  ~AnyCluster() {
    try {
      client.remove(berth::kube::namespaces, "", name_space);
    } catch (const berth::kube::ApiError&) {  // nothing else uses this namespace
    }
  }
  AnyCluster(const AnyCluster&) = delete;
  AnyCluster& operator=(const AnyCluster&) = delete;

  // Returns an object with these fields in addition to those that every object has. `version` is
  // its apiVersion.
  nlohmann::json object(const std::string& version, const std::string& kind,
                        const std::string& name, const nlohmann::json& more = {}) const {
    nlohmann::json made = {{"apiVersion", version},
                           {"kind", kind},
                           {"metadata", {{"name", name}, {"namespace", name_space}}}};
    made.merge_patch(more.is_null() ? nlohmann::json::object() : more);
    return made;
  }
  nlohmann::json secret(const std::string& name, const nlohmann::json& more = {}) const {
    return object("v1", "Secret", name, more);
  }
  // Returns a pod with one container that breaks no rule except those that `container` breaks.
  nlohmann::json pod(const std::string& name, const nlohmann::json& container = {}) const {
    nlohmann::json app = {{"name", "app"},
                          {"image", "example.org/app:1"},
                          {"securityContext",
                           {{"allowPrivilegeEscalation", false},
                            {"runAsNonRoot", true},
                            {"capabilities", {{"drop", {"ALL"}}}},
                            {"seccompProfile", {{"type", "RuntimeDefault"}}}}}};
    app.merge_patch(container.is_null() ? nlohmann::json::object() : container);
    // No node starts this pod.
    return object("v1", "Pod", name,
                  {{"spec", {{"containers", {app}}, {"schedulerName", "nobody"}}}});
  }

 private:
  std::optional<berth::embedded::Cluster> simulated_;
  berth::kube::Kubeconfig config() {
    if (const char* file = std::getenv("BERTH_TEST_KUBECONFIG"))
      return berth::kube::load_kubeconfig(file);
    berth::kube::Kubeconfig config;
    config.server = simulated_.emplace().url();
    return config;
  }

 public:
  berth::kube::Client client;
  const std::string name_space;
};
