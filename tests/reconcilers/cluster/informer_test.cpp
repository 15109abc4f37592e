#include "reconcilers/cluster/informer.h"

#include <catch2/catch.hpp>

#include "controller/base/crypto.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using nlohmann::json;

// An informer follows the changes on the cluster, whichever the tests are given.

namespace {

class Watched {
 public:
  Watched() {
    client.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}});
  }
  ~Watched() {
    informer.request_stop();
    informer.join();
    client.remove(kube::namespaces, "", name);
  }

  json service(const std::string& service_name, int port, bool labelled = true) const {
    json made = {{"apiVersion", "v1"},
                 {"kind", "Service"},
                 {"metadata", {{"name", service_name}, {"namespace", name}}},
                 {"spec", {{"ports", {{{"name", "http"}, {"port", port}}}}}}};
    if (labelled) made["metadata"]["labels"] = {{"informer-test", name}};
    return made;
  }
  int port_of(const std::string& service_name) {
    const ObjectPtr found = informer.store().find(name, service_name);
    return found ? (*found)["spec"]["ports"][0]["port"].get<int>() : 0;
  }
  bool has(const std::string& service_name, int port) {
    return eventually([&] { return port_of(service_name) == port; });
  }
  bool lacks(const std::string& service_name) {
    return eventually([&] { return informer.store().find(name, service_name) == nullptr; });
  }

 private:
  TestCluster cluster_;

 public:
  const std::string name = "berth-test-" + hex(random_bytes(6));
  kube::Client client{cluster_.config()};
  std::atomic<int> heard = 0;
  std::atomic<int> gone = 0;
  std::atomic<Instant> last_seen = Instant();
  Informer informer{client, kube::services, Need::always, "informer-test=" + name,
                    Informer::Listener{.changed = [this](const Object&) { ++heard; },
                                       .connected = [] {},
                                       .gone =
                                           [this](const Object&, Instant at) {
                                             last_seen = at;
                                             ++gone;
                                           }}};
};

}  // namespace

TEST_CASE(
    "an informer has the objects from before its start, and only those that its selector matches") {
  Watched watched;
  watched.client.apply(watched.service("a", 80));
  watched.client.apply(watched.service("b", 81));
  watched.client.apply(watched.service("other", 82, false));
  CHECK_FALSE(watched.informer.state().synced);
  watched.informer.start();
  REQUIRE(eventually([&] { return watched.informer.state().synced; }));
  CHECK(watched.informer.store().size() == 2);
  CHECK(watched.port_of("a") == 80);
  CHECK(watched.heard == 2);
  CHECK(watched.informer.state().connected);
}

TEST_CASE("an informer tells of what is gone, and when it was seen last") {
  Watched watched;
  watched.client.apply(watched.service("a", 80));
  watched.client.apply(watched.service("b", 81));
  watched.informer.start();
  REQUIRE(eventually([&] { return watched.informer.state().synced; }));
  CHECK(watched.gone == 0);
  watched.client.apply(watched.service("b", 82));
  REQUIRE(watched.has("b", 82));
  CHECK(watched.gone == 0);
  const Instant before = system_time();
  CHECK(watched.informer.state().in_step_until <= before);
  watched.client.remove(kube::services, watched.name, "a");
  REQUIRE(eventually([&] { return watched.gone == 1; }));
  CHECK(watched.last_seen.load() >= before);
  CHECK(watched.last_seen.load() <= watched.informer.state().in_step_until);
}

TEST_CASE("what went while the API server was away was seen last before that") {
  embedded::Cluster cluster{quick()};
  kube::Client client(config_of(cluster));
  client.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "n"}}}});
  client.create({{"apiVersion", "v1"},
                 {"kind", "Service"},
                 {"metadata", {{"name", "a"}, {"namespace", "n"}, {"labels", {{"seen", "yes"}}}}},
                 {"spec", {{"ports", {{{"name", "http"}, {"port", 80}}}}}}});
  std::atomic<int> gone = 0;
  std::atomic<Instant> last_seen = Instant();
  Informer informer{client, kube::services, Need::always, "seen=yes",
                    Informer::Listener{.changed = [](const Object&) {},
                                       .connected = [] {},
                                       .gone =
                                           [&](const Object&, Instant at) {
                                             last_seen = at;
                                             ++gone;
                                           }}};
  informer.start();
  REQUIRE(eventually([&] { return informer.store().find("n", "a") != nullptr; }));
  cluster.go_down();
  REQUIRE(cluster.remove("services", "n", "a"));
  REQUIRE(eventually([&] { return !informer.state().connected; }));
  const Instant back_at = system_time();
  cluster.come_back();
  REQUIRE(eventually([&] { return gone == 1; }));
  CHECK(last_seen.load() < back_at);
  informer.request_stop();
  informer.join();
}

TEST_CASE("an informer follows creations, changes, deletions and changed labels") {
  Watched watched;
  watched.informer.start();
  REQUIRE(eventually([&] { return watched.informer.state().synced; }));
  watched.client.apply(watched.service("a", 80));
  CHECK(watched.has("a", 80));
  watched.client.apply(watched.service("a", 81));
  CHECK(watched.has("a", 81));
  watched.client.apply(watched.service("a", 81, false));
  CHECK(watched.lacks("a"));
  watched.client.apply(watched.service("a", 82));
  CHECK(watched.has("a", 82));
  watched.client.remove(kube::services, watched.name, "a");
  CHECK(watched.lacks("a"));
  watched.client.apply(watched.service("a", 83));  // another object of the same name
  CHECK(watched.has("a", 83));
  CHECK(watched.heard >= 5);
}

TEST_CASE("an answer to a write is known at once, and its late event changes nothing") {
  Watched watched;
  watched.informer.start();
  REQUIRE(eventually([&] { return watched.informer.state().synced; }));
  watched.informer.store().note(watched.client.apply(watched.service("a", 80)));
  CHECK(watched.port_of("a") == 80);
  watched.informer.store().note(watched.client.apply(watched.service("a", 81)));
  CHECK(watched.port_of("a") == 81);
  // Events arrive in order, so after this one the others have arrived.
  watched.client.apply(watched.service("last", 90));
  CHECK(watched.has("last", 90));
  CHECK(watched.port_of("a") == 81);
}
