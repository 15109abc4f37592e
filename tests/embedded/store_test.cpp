#include "reconcilers/embedded/apiserver/store.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "reconcilers/embedded/controllers/event_recorder.h"
#include "reconcilers/embedded/timing.h"

using namespace berth::embedded;

namespace {

const Key web{Kind::pods, "apps", "web"};

Json pod(const std::string& memory = "64Mi") {
  const Json container{{"name", "app"}, {"resources", {{"limits", {{"memory", memory}}}}}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", "web"}, {"namespace", "apps"}, {"labels", {{"app", "web"}}}}},
          {"spec", {{"containers", {container}}}},
          {"status", {{"phase", "Running"}}}};
}

}  // namespace

TEST_CASE("a store at rest keeps objects, and no more than the newest changes") {
  Store store;
  Lock lock(store.mutex());
  const std::weak_ptr<const Json> first = store.put(web, pod());
  store.take_changes(lock, Moment::min());
  for (size_t i = 0; i < 3 * Store::history_limit; ++i) {
    Json next = pod();
    next["status"]["number"] = i;
    store.put(web, next);
    store.take_changes(lock, Moment::min());
  }
  CHECK(store.compacted(Kind::pods) == 0);  // a watch may be behind while much happens
  CHECK_FALSE(store.rests());
  store.rest();
  CHECK(store.rests());
  CHECK(first.expired());
  CHECK(store.compacted(Kind::pods) == store.version() - Store::history_limit);
  const ObjectPtr found = store.find(web);
  REQUIRE(found);
  CHECK((*found)["status"]["number"] == 3 * Store::history_limit - 1);
  CHECK((*found)["apiVersion"] == "v1");
  CHECK((*found)["kind"] == "Pod");
  CHECK((*found)["metadata"]["resourceVersion"] == std::to_string(store.version()));
}

TEST_CASE("nobody gets the store while its changes are taken, unless they are waited for") {
  using namespace std::chrono_literals;
  Store store;
  std::atomic<bool> seen = false;
  Lock lock(store.mutex());
  std::jthread other([&] {
    const Lock mine(store.mutex());
    seen = true;
  });
  const auto now = [] { return std::chrono::steady_clock::now(); };
  for (const Moment until = now() + 50ms; now() < until;) store.take_changes(lock, Moment::min());
  CHECK_FALSE(seen);
  for (const Moment until = now() + 10s; !seen && now() < until;)
    store.take_changes(lock, now() + 10ms);
  CHECK(seen);
  lock.unlock();
}

TEST_CASE("what a namespace uses follows each change of its objects") {
  Store store;
  const Lock lock(store.mutex());
  const auto memory = [&] { return store.used("apps", "limits.memory").text(); };
  CHECK(memory() == "0");
  store.put(web, pod());
  Key other = web;
  other.name = "other";
  store.put(other, pod("128Mi"));
  CHECK(memory() == "192Mi");
  CHECK(store.used("apps", "pods").text() == "2");
  CHECK(store.used("elsewhere", "pods").text() == "0");
  Json ended = pod("128Mi");
  ended["status"]["phase"] = "Failed";
  store.put(other, ended);
  CHECK(memory() == "64Mi");
  store.erase(other);
  CHECK(memory() == "64Mi");
  store.erase(web);
  CHECK(memory() == "0");
  CHECK(store.used("apps", "count/pods").text() == "0");
}

TEST_CASE("events are found by the name of the object that they are about") {
  Store store;
  const Lock lock(store.mutex());
  const auto add = [&](const std::string& name, const std::string& about) {
    store.put({Kind::events, "apps", name}, {{"apiVersion", "v1"},
                                             {"kind", "Event"},
                                             {"metadata", {{"name", name}, {"namespace", "apps"}}},
                                             {"involvedObject", {{"name", about}}}});
  };
  add("one", "web");
  add("two", "other");
  add("three", "web");
  const auto names = [&] {
    std::vector<std::string> found;
    for (const auto& [key, event] : store.events_about("apps", "web")) found.push_back(key.name);
    return found;
  };
  CHECK(names() == std::vector<std::string>{"one", "three"});
  store.erase({Kind::events, "apps", "one"});
  CHECK(names() == std::vector<std::string>{"three"});
  store.erase({Kind::events, "apps", "three"});
  CHECK(names().empty());
}

TEST_CASE("events about objects that are gone make room, those about living ones stay") {
  Store store;
  Registry registry(store, 1);
  EventRecorder events(store, registry, "node");
  const Lock lock(store.mutex());
  store.put({Kind::namespaces, "", "apps"}, {{"metadata", {{"name", "apps"}}}});
  Json living = pod();
  living["metadata"]["uid"] = "living";
  store.put(web, living);
  const Happening started{EventType::normal, "Started", "Started container app", "app"};
  events.record(living, "kubelet", started);
  for (size_t i = 0; i < 3 * EventRecorder::most_about_deleted; ++i) {
    Json gone = pod();
    gone["metadata"]["uid"] = gone["metadata"]["name"] = "gone-" + std::to_string(i);
    events.record(gone, "kubelet", started);
  }
  CHECK(store.count(Kind::events, "apps") == EventRecorder::most_about_deleted);
  CHECK(store.events_about("apps", "web").size() == 1);
}
