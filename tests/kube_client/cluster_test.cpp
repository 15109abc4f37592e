#include "reconcilers/embedded/cluster.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>

#include "controller/base/crypto.h"
#include "tests/kube_client/api_server.h"

using namespace berth::kube;
using nlohmann::json;

namespace {

// A namespace of the test's own in a cluster, for what berth does with objects from their first
// apply to their removal. It is the same on every API server.
class Visit {
 public:
  explicit Visit(Client& client)
      : client_(client), name_("berth-test-" + berth::hex(berth::random_bytes(6))) {}

  void run() {
    namespace_appears();
    secret_appears();
    secret_is_watched();
    old_version_is_refused();
    secret_goes();
    namespace_goes();
  }

 private:
  json secret(const std::string& value) const {
    return {{"apiVersion", "v1"},
            {"kind", "Secret"},
            {"metadata",
             {{"name", "s"}, {"namespace", name_}, {"labels", {{"berth/instance", name_}}}}},
            {"type", "Opaque"},
            {"data", {{"key", berth::base64(value)}}}};
  }
  std::string value_of(const Object& object) const {
    return berth::parse_base64(object["data"]["key"].get<std::string>()).value();
  }

  void namespace_appears() {
    CHECK_FALSE(client_.get(namespaces, "", name_));
    const Object made = client_.apply(
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name_}}}});
    CHECK(made["metadata"]["uid"].is_string());
    CHECK(client_.get(namespaces, "", name_)->at("metadata")["uid"] == made["metadata"]["uid"]);
    const List one = client_.list(namespaces, {"", "", "metadata.name=" + name_});
    REQUIRE(one.items.size() == 1);
    CHECK(one.items[0]["kind"] == "Namespace");
  }

  void secret_appears() {
    CHECK_FALSE(client_.get(secrets, name_, "s"));
    CHECK(value_of(client_.apply(secret("one"))) == "one");
    const List everywhere = client_.list(secrets, {"", "berth/instance=" + name_, ""});
    REQUIRE(everywhere.items.size() == 1);
    CHECK(value_of(everywhere.items[0]) == "one");
    CHECK(everywhere.items[0]["apiVersion"] == "v1");
    CHECK(everywhere.items[0]["kind"] == "Secret");
    CHECK(client_.list(secrets, {name_, "berth/instance=other", ""}).items.empty());
  }

  void secret_is_watched() {
    const List before = client_.list(secrets, {name_, "", ""});
    std::vector<std::pair<EventType, std::string>> seen;
    std::stop_source stop;
    const auto on_event = [&](EventType type, const Object& object) {
      if (type == EventType::bookmark || object["metadata"]["name"] != "s") return;
      seen.emplace_back(type, value_of(object));
      if (seen.size() == 1) client_.apply(secret("three"));
      if (seen.size() == 2) client_.remove(secrets, name_, "s");
      if (seen.size() == 3) client_.create(secret("four"));
      if (seen.size() == 4) stop.request_stop();
    };
    client_.apply(secret("two"));
    client_.watch(secrets, {name_, "", ""}, before.resource_version, on_event, stop.get_token());
    CHECK(seen == std::vector<std::pair<EventType, std::string>>{{EventType::modified, "two"},
                                                                 {EventType::modified, "three"},
                                                                 {EventType::deleted, "three"},
                                                                 {EventType::added, "four"}});
  }

  void old_version_is_refused() {
    Object current = client_.get(secrets, name_, "s").value();
    current["data"]["key"] = berth::base64("five");
    CHECK(value_of(client_.update(current)) == "five");
    const ApiError error = error_from([&] { client_.update(current); });
    CHECK(error.status == 409);
    CHECK(error.reason == "Conflict");
    CHECK(error_from([&] { client_.create(secret("six")); }).reason == "AlreadyExists");
  }

  void secret_goes() {
    const Object current = client_.get(secrets, name_, "s").value();
    CHECK_FALSE(client_.remove(secrets, name_, "s", "11111111-2222-3333-4444-555555555555"));
    CHECK(client_.get(secrets, name_, "s"));
    CHECK(client_.remove(secrets, name_, "s", current["metadata"]["uid"].get<std::string>()));
    CHECK_FALSE(client_.get(secrets, name_, "s"));
    CHECK_FALSE(client_.remove(secrets, name_, "s"));
  }

  // A cluster's controllers take time to empty the namespace, and there may be no controllers.
  void namespace_goes() {
    CHECK(client_.remove(namespaces, "", name_));
    const auto left = client_.get(namespaces, "", name_);
    CHECK((!left || left->at("metadata").contains("deletionTimestamp")));
    CHECK_FALSE(client_.remove(namespaces, "", name_, "11111111-2222-3333-4444-555555555555"));
  }

  Client& client_;
  const std::string name_;
};

}  // namespace

TEST_CASE("the client can do on a cluster what berth needs", "[real]") {
  std::optional<berth::embedded::Cluster> simulated;
  Kubeconfig config;
  if (const char* file = std::getenv("BERTH_TEST_KUBECONFIG"))
    config = load_kubeconfig(file);
  else
    config.server = simulated.emplace().url();
  Client client(config);
  CHECK(json::parse(client.raw("/version")).contains("gitVersion"));
  Visit(client).run();
}
